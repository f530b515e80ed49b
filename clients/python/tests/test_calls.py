"""Retries, deadlines, errors and streams, against servers that do what the test says."""

from __future__ import annotations

import asyncio
import re
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from xxhash import xxh3_64_intdigest

import floors
from conftest import FLOOR, Method, ScriptedServer, free_port
from floors import AsyncClient, CallOptions, Client, FloorSpec, Served, TraceStep, Violation, retry
from floors.v1 import floors_pb2 as pb

SPEC = FloorSpec(42, 7)
STATUS = "grpc-status-details-bin"


def numbered(number: int) -> bytes:
    """The floor under another number, with its right hash."""
    message = pb.Floor.FromString(FLOOR)
    message.spec.number = number
    message.content_hash = 0
    message.content_hash = xxh3_64_intdigest(message.SerializeToString(deterministic=True))
    return message.SerializeToString(deterministic=True)


def field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def details(type_name: str, value: bytes) -> tuple[tuple[str, bytes], ...]:
    """Trailers with one detail, as the floor server sends them."""
    packed = Any(type_url=f"type.googleapis.com/google.rpc.{type_name}", value=value).SerializeToString()
    return ((STATUS, b"\x08\x08" + field(3, packed)),)


def retry_info(seconds: float) -> tuple[tuple[str, bytes], ...]:
    delay = Duration(seconds=int(seconds), nanos=round(seconds % 1 * 1e9))
    return details("RetryInfo", field(1, delay.SerializeToString()))


def fails(code: grpc.StatusCode, trailers: tuple[tuple[str, bytes], ...] = (), message: str = "for the test") -> Method:
    def method(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.set_trailing_metadata(trailers)
        context.abort(code, message)
        raise AssertionError

    return method


def answers(encoded: bytes, *metadata: tuple[str, str]) -> Method:
    def method(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.send_initial_metadata(metadata)
        return encoded

    return method


def streams(*numbers: int, then: Method | None = None) -> Method:
    def method(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        yield from map(numbered, numbers)
        if then is not None:
            then(request, context)
        context.set_trailing_metadata((("floor-served-by", f"lru={len(numbers)}"),))

    return method


EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def test_waits_as_long_as_the_server_asks(scripted: ScriptedServer) -> None:
    scripted.script = [fails(EXHAUSTED, retry_info(0.3)), answers(FLOOR)]
    with Client(scripted.address) as client:
        start = time.monotonic()
        assert client.get(SPEC).spec.number == 7
        assert time.monotonic() - start >= 0.3
    assert len(scripted.requests) == 2
    assert scripted.requests[0] == scripted.requests[1]


def test_asyncio_waits_as_long_as_the_server_asks(scripted: ScriptedServer) -> None:
    scripted.script = [fails(EXHAUSTED, retry_info(0.3)), fails(UNAVAILABLE), answers(FLOOR)]

    async def run() -> None:
        async with AsyncClient(scripted.address) as client:
            start = time.monotonic()
            assert (await client.get(SPEC)).spec.number == 7
            assert time.monotonic() - start >= 0.3

    asyncio.run(run())
    assert len(scripted.requests) == 3


def test_a_draining_server_is_asked_again(scripted: ScriptedServer) -> None:
    scripted.script = [fails(UNAVAILABLE), fails(UNAVAILABLE), answers(FLOOR)]
    with Client(scripted.address) as client:
        assert client.get(SPEC).spec.number == 7
    assert len(scripted.requests) == 3


def test_retries_end(scripted: ScriptedServer) -> None:
    scripted.script = [fails(EXHAUSTED, retry_info(0.01))]
    with Client(scripted.address, options=CallOptions(retries=2)) as client:
        with pytest.raises(floors.ResourceExhaustedError, match=r"GetFloor at .* RESOURCE_EXHAUSTED: for") as caught:
            client.get(SPEC)
        assert caught.value.retry_after == pytest.approx(0.01)
        assert len(scripted.requests) == 3
        with pytest.raises(floors.ResourceExhaustedError):
            client.with_options(retries=0).get(SPEC)
    assert len(scripted.requests) == 4


def test_a_wait_beyond_the_deadline_is_not_begun(scripted: ScriptedServer) -> None:
    scripted.script = [fails(EXHAUSTED, retry_info(60))]
    with Client(scripted.address, options=CallOptions(deadline=5)) as client:
        start = time.monotonic()
        with pytest.raises(floors.ResourceExhaustedError):
            client.get(SPEC)
        assert time.monotonic() - start < 5


def test_other_errors_are_not_repeated(scripted: ScriptedServer) -> None:
    violation = field(1, b"spec.width") + field(2, b"width 15 is not in 16 ..= 512")
    scripted.script = [fails(grpc.StatusCode.INVALID_ARGUMENT, details("BadRequest", field(1, violation)))]
    with Client(scripted.address) as client, pytest.raises(floors.InvalidArgumentError) as caught:
        client.get(SPEC)
    assert caught.value.violations == (Violation("spec.width", "width 15 is not in 16 ..= 512"),)
    assert len(scripted.requests) == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, floors.UnauthenticatedError),
        (grpc.StatusCode.PERMISSION_DENIED, floors.PermissionDeniedError),
        (grpc.StatusCode.INTERNAL, floors.CallError),
    ],
)
def test_codes_have_types(scripted: ScriptedServer, code: grpc.StatusCode, error: type[floors.CallError]) -> None:
    scripted.script = [fails(code, ((STATUS, b"\xff\xff\xff"),))]  # details that do not decode are ignored
    with Client(scripted.address) as client, pytest.raises(error) as caught:
        client.get(SPEC)
    assert (caught.value.code, caught.value.message) == (code, "for the test")
    assert len(scripted.requests) == 1


def test_the_deadline_bounds_the_call(scripted: ScriptedServer) -> None:
    def sleeps(_: bytes, context: grpc.ServicerContext) -> bytes:
        while context.is_active():
            time.sleep(0.01)
        return b""

    scripted.script = [sleeps]
    with Client(scripted.address, options=CallOptions(deadline=0.2)) as client:
        with pytest.raises(floors.DeadlineExceededError):
            client.get(SPEC)
    assert len(scripted.requests) == 1


def test_a_server_that_is_down_is_reported_soon() -> None:
    address = f"127.0.0.1:{free_port()}"
    reason = f"{address}: UNAVAILABLE: no server answers at this address .is it running"
    start = time.monotonic()

    async def run() -> None:
        async with AsyncClient(address) as client:
            calls = [client.get(SPEC), anext(client.stream(SPEC, 2))]
            for error in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(error, floors.UnavailableError)
                assert re.search(reason, str(error))

    with Client(address) as client, ThreadPoolExecutor() as executor:
        other = executor.submit(asyncio.run, run())
        for call in (executor.submit(client.get, SPEC), executor.submit(next, client.stream(SPEC, 2))):
            with pytest.raises(floors.UnavailableError, match=reason):
                call.result()
        other.result()
    assert time.monotonic() - start < 4


@pytest.mark.parametrize(
    ("message", "waits"),
    [
        ("failed to connect to all addresses; last error: Connection refused", False),
        ("errors resolving nowhere: Domain name not found", False),
        ("the server is draining", True),
    ],
)
def test_a_server_that_was_reached_is_awaited(monkeypatch: pytest.MonkeyPatch, message: str, *, waits: bool) -> None:
    monkeypatch.setattr(retry, "_FIRST", 0.0)
    error = floors.UnavailableError("GetFloor", "server", UNAVAILABLE, message)
    reached = Event()
    if not waits:
        with pytest.raises(floors.UnavailableError):
            retry.Retry(10, 4, reached).wait_after(error)
        retry.Retry(10, 4, reached).progressed()
    assert retry.Retry(10, 4, reached).wait_after(error) < 1
    assert reached.is_set()


def test_calls_of_all_options_note_that_the_server_was_reached(scripted: ScriptedServer) -> None:
    scripted.script = [answers(FLOOR), streams(5)]
    with Client(scripted.address) as client:
        client.with_options(trace=True).get(SPEC)
        assert client._connection.reached.is_set()

    async def run() -> None:
        async with AsyncClient(scripted.address) as client:
            await anext(client.stream(FloorSpec(42, 5), 1))
            assert client._connection.reached.is_set()

    asyncio.run(run())


def test_a_server_of_http_1_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as executor:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

        executor.submit(answer)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with Client(address, options=CallOptions(retries=0)) as client:
            with pytest.raises(floors.UnavailableError, match="this may be the operations port"):
                client.get(SPEC)


def test_metadata_of_an_answer(scripted: ScriptedServer) -> None:
    trace = "lru=miss:1us,lmdb=bypass:0us,generated:212us,lru,x=hit:fast"
    scripted.script = [
        answers(
            FLOOR,
            ("floor-served-by", "generated"),
            ("floor-coalesced", "1"),
            ("floor-server-us", "220"),
            ("floor-trace", trace),
        ),
        answers(FLOOR, ("floor-served-by", "lru=many,,="), ("floor-coalesced", "yes"), ("floor-server-us", "-1")),
        answers(FLOOR),
    ]
    with Client(scripted.address) as client:
        steps = (TraceStep("lru", "miss", 1), TraceStep("lmdb", "bypass", 0), TraceStep("generated", None, 212))
        assert client.get(SPEC).served == Served({"generated": 1}, 1, 220, steps)
        assert client.get(SPEC).served == Served()
        assert client.get(SPEC).served == Served()


def test_metadata_of_a_request(scripted: ScriptedServer) -> None:
    scripted.script = [answers(FLOOR)]
    tokens = iter(["first", "second"])
    with Client(scripted.address, token=lambda: next(tokens)) as client:
        client.with_options(no_cache=True, trace=True).get(SPEC)
        client.get(SPEC)
    first, second = scripted.metadata
    assert (first["cache-control"], first["floor-trace"], first["authorization"]) == ("no-cache", "1", "Bearer first")
    assert second["authorization"] == "Bearer second"
    assert "cache-control" not in second


def test_a_batch_is_checked_floor_by_floor(scripted: ScriptedServer) -> None:
    def batch(*encoded: bytes) -> Method:
        response = b"".join(b"\x0a" + bytes([len(each) & 0x7F | 0x80, len(each) >> 7]) + each for each in encoded)
        return answers(response, ("floor-served-by", "lru=1,generated=1"))

    damaged = FLOOR[:-1] + bytes([FLOOR[-1] ^ 1])
    scripted.script = [
        batch(numbered(3), FLOOR),
        batch(FLOOR),
        batch(numbered(3), damaged),
        batch(FLOOR, numbered(3)),
        answers(b"\x0a\xff"),
    ]
    specs = [FloorSpec(42, 3), SPEC]
    with Client(scripted.address) as client:
        found = client.batch(iter(specs))
        assert [floor.spec.number for floor in found] == [3, 7]
        assert found.served.by == {"lru": 1, "generated": 1}
        with pytest.raises(floors.MalformedResponseError, match="1 floors for 2 specs"):
            client.batch(specs)
        with pytest.raises(floors.HashMismatchError, match="floor 7 of tower 42: the floor carries"):
            client.batch(specs)
        with pytest.raises(floors.WrongFloorError, match="floor 3 of tower 42"):
            client.batch(specs)
        with pytest.raises(floors.MalformedResponseError, match="malformed"):
            client.batch(specs)


def asked(request: bytes) -> tuple[int, int]:
    message = pb.StreamFloorsRequest.FromString(request)
    return message.first.number, message.count


def test_a_stream_resumes_where_it_broke(scripted: ScriptedServer) -> None:
    scripted.script = [
        fails(EXHAUSTED, retry_info(0.01)),
        streams(5, 6, then=fails(UNAVAILABLE)),
        streams(7, then=fails(UNAVAILABLE)),
        streams(8, 9),
    ]
    with Client(scripted.address, options=CallOptions(retries=1)) as client:
        stream = client.stream(FloorSpec(42, 5), 5)
        assert [floor.spec.number for floor in stream] == [5, 6, 7, 8, 9]
        assert stream.served.by == {"lru": 2, "unknown": 3}
    assert list(map(asked, scripted.requests)) == [(5, 5), (5, 5), (7, 3), (8, 2)]


def test_asyncio_resumes_a_stream(scripted: ScriptedServer) -> None:
    scripted.script = [streams(5, 6, then=fails(UNAVAILABLE)), streams(7)]

    async def run() -> None:
        async with AsyncClient(scripted.address) as client:
            stream = client.stream(FloorSpec(42, 5), 3)
            assert [floor.spec.number async for floor in stream] == [5, 6, 7]
            assert stream.served.by == {"lru": 1, "unknown": 2}

    asyncio.run(run())
    assert list(map(asked, scripted.requests)) == [(5, 3), (7, 1)]


def test_the_last_floor_is_not_lost_with_the_trailers(scripted: ScriptedServer) -> None:
    scripted.script = [streams(5, then=fails(UNAVAILABLE))]
    with Client(scripted.address) as client:
        assert [floor.spec.number for floor in client.stream(FloorSpec(42, 5), 1)] == [5]
    assert len(scripted.requests) == 1


def stalls(_: bytes, context: grpc.ServicerContext) -> None:
    while context.is_active():
        time.sleep(0.01)


def test_a_stream_that_stalls_is_resumed(scripted: ScriptedServer) -> None:
    scripted.script = [streams(5, then=stalls), streams(6, 7)]
    with Client(scripted.address, options=CallOptions(deadline=0.3)) as client:
        assert [floor.spec.number for floor in client.stream(FloorSpec(42, 5), 3)] == [5, 6, 7]
    assert list(map(asked, scripted.requests)) == [(5, 3), (6, 2)]


def test_asyncio_resumes_a_stream_that_stalls(scripted: ScriptedServer) -> None:
    scripted.script = [streams(5, then=stalls), streams(6, 7)]

    async def run() -> None:
        async with AsyncClient(scripted.address, options=CallOptions(deadline=0.3)) as client:
            assert [floor.spec.number async for floor in client.stream(FloorSpec(42, 5), 3)] == [5, 6, 7]

    asyncio.run(run())
    assert list(map(asked, scripted.requests)) == [(5, 3), (6, 2)]


def test_a_stream_without_floors_ends_at_its_deadline(scripted: ScriptedServer) -> None:
    scripted.script = [streams(then=stalls)]
    with Client(scripted.address, options=CallOptions(deadline=0.3)) as client:
        with pytest.raises(floors.DeadlineExceededError, match=r"no floor arrived for 0\.[23] s"):
            next(client.stream(FloorSpec(42, 5), 3))
    assert len(scripted.requests) == 1


def test_the_time_of_the_reader_does_not_count(scripted: ScriptedServer) -> None:
    scripted.script = [streams(5, 6)]
    with Client(scripted.address, options=CallOptions(deadline=0.2)) as client:
        for floor in client.stream(FloorSpec(42, 5), 2):
            assert floor.spec.number in (5, 6)
            time.sleep(0.5)
    assert len(scripted.requests) == 1


def test_what_is_no_spec_is_named(scripted: ScriptedServer) -> None:
    with Client(scripted.address) as client:
        calls: list[Callable[[FloorSpec], object]] = [
            client.get,
            lambda spec: client.batch([spec]),
            lambda spec: client.stream(spec, 2),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"\(42, 7\) is no FloorSpec: write .* FloorSpec\(42, 7\)"):
                call((42, 7))  # type: ignore[arg-type]
    assert scripted.requests == []


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (streams(5), "ended 1 floors early"),
        (streams(5, 6, 7), "more floors than asked for"),
        (streams(5, 7), "floor 6 of tower 42: the server sent another floor"),
    ],
)
def test_a_wrong_stream_is_named(scripted: ScriptedServer, method: Method, reason: str) -> None:
    scripted.script = [method]
    with Client(scripted.address) as client:
        stream = client.stream(FloorSpec(42, 5), 2)
        with pytest.raises(floors.FloorsError, match=reason):
            list(stream)
        assert list(stream) == []
        assert stream.served == Served()


def test_an_error_ends_a_stream(scripted: ScriptedServer) -> None:
    scripted.script = [streams(5, then=fails(grpc.StatusCode.INTERNAL))]
    with Client(scripted.address) as client:
        stream = client.stream(FloorSpec(42, 5), 2)
        assert next(stream).spec.number == 5
        with pytest.raises(floors.CallError, match="INTERNAL"):
            next(stream)
        assert list(stream) == []


@pytest.mark.parametrize(
    ("address", "arguments", "reason"),
    [
        ("", {}, "no server address"),
        ("http://", {}, "no server address"),
        ("ftp://host:1", {}, "write http://host:port or https://host:port"),
        ("host:port", {}, "no server address"),
        ("host:99999", {}, "no server address"),
        ("http://host:1/path", {}, "nothing else"),
        ("http://user:hunter2@host:1", {}, "nothing else"),
        ("user:hunter2/@host:1", {}, "no server address"),
        ("http://user:p/hunter2@host:1", {}, "'http://\\*\\*\\*' is no server address"),
        ("http://12:3/hunter2@host:1", {}, "nothing else"),
        ("http://user:hunter2", {}, "no server address"),
        ("hunter2:x@http://host:1", {}, "no server address"),
        ("http://host:1?tenant=acme", {}, "nothing else"),
        ("http://host:1#acme", {}, "nothing else"),
        ("http:/host:1", {}, "nothing else"),
        ("http://host:+1", {}, "no server address"),
        ("http://host:1_0", {}, "no server address"),
        ("http://host:\uff11", {}, "no address has"),
        ("http://\u200bhost:1", {}, "u200b.* no address has"),
        ("\ufeffhttp://host:1", {}, "ufeff.* no address has"),
        ("http\uff1a//host:1", {}, "no address has"),
        ("http://ho\nst:1", {}, "no address has"),
        ("'http://host:1'", {}, "no server address"),
        ("http://127.0.0.1:1", {"ca": b""}, "write https://host:port"),
        ("https://127.0.0.1:1", {"cert": b""}, "both cert and key"),
        ("http://192.0.2.1:1", {"token": "secret"}, "could read the token"),
    ],
)
def test_addresses_and_options_that_do_not_fit(address: str, arguments: dict[str, bytes], reason: str) -> None:
    with pytest.raises(floors.AddressError, match=reason) as raised:
        Client(address, **arguments)  # type: ignore[arg-type]
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("localhost:50051", "localhost:50051"),
        ("http://[::1]:50051/", "[::1]:50051"),
        ("HTTP://127.0.0.1:50051\r\n", "127.0.0.1:50051"),
        ("https://floors.example", "floors.example:443"),
        ("localhost", "localhost:50051"),
        ("http://127.0.0.1/", "127.0.0.1:50051"),
        ("[::1]", "[::1]:50051"),
        ("http://localhost:80", "localhost:80"),
    ],
)
def test_targets(address: str, target: str) -> None:
    with Client(address, token="secret") as client:  # noqa: S106
        assert client._connection.target == target
