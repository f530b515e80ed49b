"""The errors of a call: its address is wrong, it fails with a status, or its response is invalid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError

from floors.wire import BYTES, WireError, fields

if TYPE_CHECKING:
    from floors.spec import FloorSpec

_DETAILS_KEY = "grpc-status-details-bin"


class FloorsError(Exception):
    """Any error of this package."""


class AddressError(FloorsError, ValueError):
    """The address of the server, or an option of the connection, cannot be used."""


class InvalidFloorError(FloorsError):
    """The response is not the requested floor."""


class HashMismatchError(InvalidFloorError):
    """The content hash in a floor is not the hash of its bytes."""

    def __init__(self, carried: int, computed: int) -> None:
        super().__init__(f"the floor carries content hash {carried:016x}, but its bytes hash to {computed:016x}")
        self.carried = carried
        self.computed = computed


class GridError(InvalidFloorError):
    """A grid does not decode."""


class WrongFloorError(InvalidFloorError):
    """A valid floor, but not the requested one."""

    def __init__(self, requested: FloorSpec, received: FloorSpec) -> None:
        super().__init__(f"the server sent another floor: {received!r} for {requested!r}")
        self.requested = requested
        self.received = received


class MalformedResponseError(FloorsError):
    """The response does not decode, or has the wrong number of floors."""


class Violation(NamedTuple):
    """An invalid field of a request."""

    field: str
    """A path in the request, such as `specs[3].width`."""
    description: str


class CallError(FloorsError):
    """A call ended with a status other than OK. Subclasses stand for the codes that programs tell apart."""

    def __init__(
        self,
        rpc: str,
        server: str,
        code: grpc.StatusCode,
        message: str,
        violations: tuple[Violation, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{rpc} at {server}: {code.name}: {message}")
        self.rpc = rpc
        self.server = server
        self.code = code
        self.message = message
        """The message of the server, for people."""
        self.violations = violations
        """The invalid fields of the request."""
        self.retry_after = retry_after
        """Seconds that the server asks to wait before another attempt."""

    @property
    def is_transient(self) -> bool:
        """Whether another attempt may succeed: the server refuses the call for now, or the connection failed."""
        return self.code is grpc.StatusCode.CANCELLED  # a call that the client cancels raises no error

    @property
    def is_refused(self) -> bool:
        """Whether nothing accepted the connection."""
        return False

    @property
    def is_answer(self) -> bool:
        """Whether a server was reached, as far as the error tells."""
        return True


class InvalidArgumentError(CallError):
    """The request is wrong: `violations` names the fields."""


class FailedPreconditionError(CallError):
    """The server generates another version than `CallOptions.generator_version`: the message has both."""


class UnauthenticatedError(CallError):
    """The server needs a token, or does not know this one."""


class PermissionDeniedError(CallError):
    """The client may not do this."""


class DeadlineExceededError(CallError):
    """The deadline passed before the whole response arrived, or in a stream before the next floor."""

    @property
    def is_transient(self) -> bool:
        """If it was the deadline of one attempt."""
        return True

    @property
    def is_answer(self) -> bool:
        """Unknown: there may have been no connection yet."""
        return False


class ResourceExhaustedError(CallError):
    """The server refuses the call for now: a full queue, a used-up quota, too many unread answers."""

    @property
    def is_transient(self) -> bool:
        """If the server says when. Otherwise it is the client that refuses the answer."""
        return self.retry_after is not None


class UnavailableError(CallError):
    """The server is unreachable or draining, or TLS fails."""

    @property
    def is_transient(self) -> bool:
        """Unless TLS fails."""
        return "handshake failed" not in self.message and "Verification" not in self.message

    @property
    def is_refused(self) -> bool:
        """Whether nothing accepted the connection."""
        return "failed to connect" in self.message and "Socket closed" not in self.message

    @property
    def is_answer(self) -> bool:
        """Unless there is no connection, or the address is unknown."""
        return re.search("failed to connect|errors resolving|DNS resolution failed", self.message) is None


_MISTAKES = {
    "certificate has expired": "the certificate of the server has expired",
    "CERTIFICATE_VERIFY_FAILED": "the certificate of the server is of an authority that is not trusted (name it by ca)",
    "Hostname Verification": "the certificate of the server is for another name (name it by server_name)",
    "WRONG_VERSION_NUMBER": "the server does not speak TLS (write http://)",
    "failed to connect.*Socket closed": "the server ended the connection without an answer: it closes, or it speaks "
    "TLS (then write https://)",
    "http1.x server": "the server does not speak gRPC: this may be the operations port",
    "failed to connect.*(refused|timed out|handshaker shutdown)": "no server answers at this address (is it running, "
    "and on this port?)",
}
"""What the messages of gRPC and of its TLS library mean, by a pattern."""

_BY_CODE: dict[grpc.StatusCode, type[CallError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPreconditionError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDeniedError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhaustedError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
}


def from_rpc_error(rpc: str, server: str, error: grpc.RpcError) -> CallError:
    """The error for a failed call, with the details that the floor server attaches."""
    assert isinstance(error, grpc.Call | grpc.aio.AioRpcError)  # noqa: S101, the library raises nothing else
    details = b""
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            details = value
    violations, retry_after = _read_details(details)
    code, message = error.code(), error.details() or ""
    if code is grpc.StatusCode.UNAVAILABLE:
        message = _with_mistake(server, message)
    return _BY_CODE.get(code, CallError)(rpc, server, code, message, violations, retry_after)


def no_floor(server: str, seconds: float | None) -> CallError:
    """The error for a stream in which no floor arrived for so long."""
    code = grpc.StatusCode.DEADLINE_EXCEEDED
    return DeadlineExceededError("StreamFloors", server, code, f"no floor arrived for {seconds:.1f} s")


def _with_mistake(server: str, message: str) -> str:
    """The message of gRPC, after the mistake that leads to it."""
    for pattern, mistake in _MISTAKES.items():
        if re.search(pattern, message) and not (server.startswith("https:") and "Socket closed" in pattern):
            return f"{mistake}: {message}"
    return message


def _read_details(status: bytes) -> tuple[tuple[Violation, ...], float | None]:
    """Read the details of an encoded google.rpc.Status. What does not decode is ignored: it only explains the error.

    The messages are read by field number, because generated ones would collide with those of the package
    googleapis-common-protos.
    """
    violations: list[Violation] = []
    retry_after: float | None = None
    try:
        for packed in _embedded(status, 3):
            detail = Any.FromString(packed)
            if detail.type_url.endswith("/google.rpc.RetryInfo"):
                for delay in _embedded(detail.value, 1):
                    duration = Duration.FromString(delay)
                    retry_after = max(0.0, duration.seconds + duration.nanos / 1e9)
            elif detail.type_url.endswith("/google.rpc.BadRequest"):
                found = _embedded(detail.value, 1)
                violations.extend(Violation(_text(violation, 1), _text(violation, 2)) for violation in found)
    except (WireError, DecodeError):
        pass
    return tuple(violations), retry_after


def _embedded(message: bytes, number: int) -> list[bytes]:
    """The values of a field of messages or strings."""
    found = (field for field in fields(message) if field.number == number and field.wire_type == BYTES)
    return [message[field.value : field.end] for field in found]


def _text(message: bytes, number: int) -> str:
    return b"".join(_embedded(message, number)[-1:]).decode("utf-8", "replace")
