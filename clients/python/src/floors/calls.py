"""What the synchronous and the asynchronous client share: paths, requests, and the reading of responses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.message import DecodeError
from xxhash import xxh3_64_intdigest

from floors.errors import InvalidFloorError, MalformedResponseError
from floors.floor import Batch, Floor
from floors.served import Served
from floors.spec import FloorSpec, whole
from floors.v1 import floors_pb2 as pb
from floors.wire import BYTES, WireError, check_entries, fields

GET = "GetFloor"
BATCH = "BatchGetFloors"
STREAM = "StreamFloors"
SEARCH = "SearchFloors"
INFO = "GetServerInfo"
PACK = "GetPack"
PACKS = "ListPacks"
START_CLIMB = "StartClimb"
SUBMIT_FLOOR = "SubmitFloor"
DAILY = "GetDaily"
UNARY = (GET, BATCH, SEARCH, INFO, PACK, PACKS, START_CLIMB, SUBMIT_FLOOR, DAILY)

_MAX_INFO_ENTRIES, _MAX_INFO_BYTES = 1 << 12, 1 << 20
_MAX_PACKS = 1 << 16
_MORE_ENTRIES = 16
"""The entries of an answer that a newer server may have beside those that this client knows."""
_BUILT_IN_PACK = "tower"
"""The pack whose hash is 0."""

ResponseMetadata = Iterable[tuple[str, str | bytes]] | None


def path(rpc: str) -> str:
    """The path of an RPC."""
    return f"/floors.v1.FloorService/{rpc}"


def get_request(spec: FloorSpec) -> bytes:
    """An encoded GetFloorRequest."""
    return pb.GetFloorRequest(spec=checked(spec).to_message()).SerializeToString()


def batch_request(specs: Sequence[FloorSpec]) -> bytes:
    """An encoded BatchGetFloorsRequest."""
    return pb.BatchGetFloorsRequest(specs=[checked(spec).to_message() for spec in specs]).SerializeToString()


def stream_request(first: FloorSpec, count: int) -> bytes:
    """An encoded StreamFloorsRequest."""
    return pb.StreamFloorsRequest(first=first.to_message(), count=count).SerializeToString()


def checked(spec: object) -> FloorSpec:
    """The spec.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(spec, FloorSpec):
        return spec
    raise TypeError(f"{spec!r} is no FloorSpec: write FloorSpec(seed, number), such as FloorSpec(42, 7)")


def read_floor(encoded: bytes, spec: FloorSpec, metadata: ResponseMetadata) -> Floor:
    """The floor of a response to GetFloor."""
    floor = read_next(encoded, spec)
    floor.served = Served.from_metadata(metadata)
    return floor


def read_next(encoded: bytes, spec: FloorSpec) -> Floor:
    """A floor that must be the one that `spec` names."""
    try:
        return Floor(encoded, spec)
    except InvalidFloorError as error:
        error.args = (f"{spec}: {error}",)
        raise


def read_batch(encoded: bytes, specs: Sequence[FloorSpec], metadata: ResponseMetadata) -> Batch:
    """The floors of a response to BatchGetFloors. Each is checked against its own received bytes."""
    try:
        check_entries(encoded, len(specs) + _MORE_ENTRIES)
        found = [encoded[at.value : at.end] for at in fields(encoded) if at.number == 1 and at.wire_type == BYTES]
    except WireError as error:
        raise MalformedResponseError(f"the answer to {BATCH} is malformed: {error}") from error
    if len(found) != len(specs):
        raise MalformedResponseError(f"the answer to {BATCH} is malformed: {len(found)} floors for {len(specs)} specs")
    return Batch(map(read_next, found, specs), Served.from_metadata(metadata))


def read_info(encoded: bytes) -> pb.ServerInfo:
    """The response to GetServerInfo."""
    if len(encoded) > _MAX_INFO_BYTES:
        raise MalformedResponseError(f"the answer to {INFO} is malformed: {len(encoded)} bytes")
    try:
        check_entries(encoded, _MAX_INFO_ENTRIES)
        return pb.ServerInfo.FromString(encoded)
    except (WireError, DecodeError) as error:
        raise MalformedResponseError(f"the answer to {INFO} is malformed: {error}") from error


def pack_request(name: str) -> bytes:
    """An encoded GetPackRequest."""
    return pb.GetPackRequest(pack=name).SerializeToString()


def read_packs(encoded: bytes) -> list[pb.PackInfo]:
    """The packs of a response to ListPacks."""
    try:
        check_entries(encoded, _MAX_PACKS)
        return list(pb.ListPacksResponse.FromString(encoded).packs)
    except (WireError, DecodeError) as error:
        raise MalformedResponseError(f"the answer to {PACKS} is malformed: {error}") from error


def read_pack(encoded: bytes, name: str) -> pb.Pack:
    """The response to GetPack, which must be the pack that `name` names, with the hash of its files."""
    try:
        check_entries(encoded, _MORE_ENTRIES)
        pack = pb.Pack.FromString(encoded)
    except (WireError, DecodeError) as error:
        raise MalformedResponseError(f"the answer to {PACK} is malformed: {error}") from error
    computed = xxh3_64_intdigest(pack.file)
    if computed != pack.hash and not (pack.name == _BUILT_IN_PACK and pack.hash == 0):
        raise InvalidFloorError(f"the pack has the hash {pack.hash:016x}, and its files {computed:016x}")
    resolved = f"{pack.name}@{pack.hash:016x}"
    if name not in ("", pack.name, resolved):
        raise InvalidFloorError(f"the server sent the pack {resolved} instead of {name}")
    return pack


class Progress:
    """The floors that a stream has still to deliver."""

    def __init__(self, first: FloorSpec, count: int) -> None:
        self.next = checked(first)
        self.remaining = self._count = whole("count", count, 2**32 - 1)
        self.unknown = 0
        """Floors from before the last request: their calls broke off and never said where they came from."""

    @property
    def is_complete(self) -> bool:
        """Whether every floor has arrived. A stream of 0 floors is an error of the server's, and never complete."""
        return self.remaining == 0 < self._count

    def request(self) -> bytes:
        """The encoded request for the remaining floors."""
        self.unknown = self._count - self.remaining
        return stream_request(self.next, self.remaining)

    def read(self, encoded: bytes) -> Floor:
        """Decode the next floor."""
        if self.remaining == 0:
            raise MalformedResponseError(f"the answer to {STREAM} is malformed: more floors than asked for")
        floor = read_next(encoded, self.next)
        self.remaining -= 1
        if self.remaining:
            self.next = self.next.at(self.next.number + 1)
        return floor

    def finish(self) -> None:
        """Check that the stream did not end too early."""
        if self.remaining:
            raise MalformedResponseError(f"the answer to {STREAM} is malformed: it ended {self.remaining} floors early")
