"""TLS and client certificates, with an authority that openssl makes for the test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

import floors
from conftest import FLOOR, ScriptedServer
from floors import CallOptions, Client, FloorSpec

ONCE = CallOptions(retries=0)


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)  # noqa: S607


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an authority, and a certificate of it for server and client."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    at = tmp_path_factory.mktemp("pki")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(at, "req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test ca")
    openssl(at, "req", *new_key, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=localhost")
    (at / "names").write_text("subjectAltName=DNS:localhost\n")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl(at, "x509", "-req", "-in", "leaf.csr", "-out", "leaf.pem", *signing)
    return at


@pytest.fixture(scope="module")
def tls_server(pki: Path) -> Iterator[str]:
    """The host and port of a server that asks for a client certificate and returns the token as `floor-served-by`."""

    def get(_: bytes, context: grpc.ServicerContext) -> bytes:
        headers = dict(context.invocation_metadata())
        context.send_initial_metadata((("floor-served-by", str(headers.get("authorization"))),))
        return FLOOR

    class Handler(grpc.GenericRpcHandler):
        def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
            return grpc.unary_unary_rpc_method_handler(get)

    key, certificate, ca = ((pki / name).read_bytes() for name in ("leaf.key", "leaf.pem", "ca.pem"))
    with ThreadPoolExecutor(2) as executor:
        server = grpc.server(executor)
        server.add_generic_rpc_handlers((Handler(),))
        credentials = grpc.ssl_server_credentials([(key, certificate)], ca, require_client_auth=True)
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(None).wait()


def test_a_client_certificate_and_a_token(pki: Path, tls_server: str) -> None:
    ca, cert, key = pki / "ca.pem", pki / "leaf.pem", str(pki / "leaf.key")
    address = f"https://{tls_server}"
    with Client(address, ca=ca, cert=cert, key=key, server_name="localhost", token="secret") as client:  # noqa: S106
        served = client.get(FloorSpec(42, 7)).served
    assert served.by == {"Bearer secret": 1}


def test_no_client_certificate(pki: Path, tls_server: str) -> None:
    ca = (pki / "ca.pem").read_bytes()
    with Client(f"https://{tls_server}", ca=ca, server_name="localhost", options=ONCE) as client:
        with pytest.raises(floors.UnavailableError):
            client.get(FloorSpec(42, 7))


@pytest.mark.parametrize("server_name", [None, "floors.example"])
def test_another_name_in_the_certificate(pki: Path, tls_server: str, server_name: str | None) -> None:
    with Client(f"https://{tls_server}", ca=pki / "ca.pem", server_name=server_name, options=ONCE) as client:
        with pytest.raises(floors.UnavailableError, match="for another name"):
            client.get(FloorSpec(42, 7))


def test_an_authority_that_is_not_trusted(tls_server: str) -> None:
    with Client(f"https://{tls_server}", server_name="localhost") as client:  # it is not asked again
        with pytest.raises(floors.UnavailableError, match="authority that is not trusted"):
            client.get(FloorSpec(42, 7))


def test_no_tls_to_a_server_with_it(tls_server: str) -> None:
    with Client(f"http://{tls_server}", options=ONCE) as client:
        with pytest.raises(floors.UnavailableError, match="it speaks TLS"):
            client.get(FloorSpec(42, 7))


def test_tls_to_a_server_without_it(scripted: ScriptedServer) -> None:
    with Client(f"https://{scripted.address}") as client:
        with pytest.raises(floors.UnavailableError, match="does not speak TLS"):
            client.get(FloorSpec(42, 7))


def test_a_file_that_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such\.pem"):
        Client("https://127.0.0.1:1", ca="no-such.pem")
