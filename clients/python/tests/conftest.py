"""A release server, scripted servers and the test vectors for the tests."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

START_SECONDS = 20
VECTORS = Path(__file__).parents[3] / "proto" / "vectors"
FLOOR_FILES = sorted((VECTORS / "floors").glob("*.bin"))
FLOOR = (VECTORS / "floors" / "default.bin").read_bytes()
"""Floor 7 of tower 42, a KEEP floor of 100x100."""

Method = Callable[[bytes, grpc.ServicerContext], Any]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server: the program in FLOOR_SERVER, with memory only."""
    program = os.environ.get("FLOOR_SERVER")
    if not program:
        pytest.skip("FLOOR_SERVER does not name a server")
    log = tmp_path_factory.mktemp("server") / "log"
    grpc_address, ops = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    environment = {
        **os.environ,
        "FLOORS__GRPC__LISTEN": grpc_address,
        "FLOORS__OPS__LISTEN": ops,
        "FLOORS__CACHE__CHAIN": '["lru"]',
        "FLOORS__PACKS__DIR": str(VECTORS / "packs"),
        "FLOORS__TOWERS__KEY_FILE": str(log.with_name("towers.key")),
    }
    with log.open("wb") as output:
        process = subprocess.Popen([program], env=environment, stderr=output)
    try:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"http://{ops}/readyz", timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    pytest.fail("the server did not start:\n" + log.read_text())
                time.sleep(0.05)
        yield grpc_address
    finally:
        process.terminate()
        process.wait(timeout=START_SECONDS)


class ScriptedServer:
    """A server whose calls do what a test says: one function for each call, the last one for all that follow."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.metadata: list[dict[str, str]] = []
        self.script: list[Method] = []
        self._executor = ThreadPoolExecutor(4)
        self._server = grpc.server(self._executor)
        self._server.add_generic_rpc_handlers((_Handler(self),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def next_method(self, request: bytes, context: grpc.ServicerContext) -> Method:
        self.requests.append(request)
        self.metadata.append({key: str(value) for key, value in context.invocation_metadata()})
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def stop(self) -> None:
        self._server.stop(None).wait()
        self._executor.shutdown()


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, server: ScriptedServer) -> None:
        self._server = server

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        if details.method.endswith("/StreamFloors"):
            return grpc.unary_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    def _unary(self, request: bytes, context: grpc.ServicerContext) -> Any:  # noqa: ANN401
        return self._server.next_method(request, context)(request, context)

    def _stream(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        yield from self._server.next_method(request, context)(request, context)


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.stop()
