"""Climbs of sealed towers: what their calls ask for, and the floors that they reveal."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import DecodeError

from floors import calls
from floors.errors import MalformedResponseError
from floors.floor import Floor
from floors.spec import FloorSpec, whole
from floors.v1 import floors_pb2 as pb
from floors.wire import BYTES, WireError, check_entries, fields

_MAX_ENTRIES = 3 + 16
"""The entries of an answer, and what a newer server may send beside them."""
_MAX_FLOOR = 1_000_000
_ROLLS_BYTES = 16


@dataclass(frozen=True, slots=True)
class ClimbFloor:
    """A floor that a climb reveals, and the receipt for the climb up to it."""

    receipt: pb.Receipt
    """To submit with the acts on this floor, and to show to others. Its signature is not checked."""
    climb: pb.Climb
    """What the receipt says."""
    floor: Floor | None
    """The floor, complete and with seed 0. None above the last floor, 1,000,000."""
    rolls: int
    """The seed of the rolls on it: 128 bits."""


class ClimbCall:
    """A call that reveals floor `number` of a tower."""

    def __init__(self, rpc: str, request: bytes, tower: str, number: int) -> None:
        self.rpc = rpc
        self.request = request
        """The encoded request."""
        self._tower = tower
        self._number = number

    @classmethod
    def start(cls, tower: str, width: int, height: int, pack: str, player: str) -> ClimbCall:
        """The call that begins a climb; the arguments are those of `Client.start_climb`.

        Raises:
            TypeError: An argument is of another type; the message names it.
            ValueError: A side is negative or too large.
        """
        for name, value in (("tower", tower), ("pack", pack), ("player", player)):
            if not isinstance(value, str):
                raise TypeError(f"{name} {value!r} is no text")
        sides = {"width": whole("width", width, 2**32 - 1), "height": whole("height", height, 2**32 - 1)}
        request = pb.StartClimbRequest(tower=tower, pack=pack, player=player, **sides)
        return cls(calls.START_CLIMB, request.SerializeToString(), tower, 1)

    @classmethod
    def submit(cls, receipt: pb.Receipt, acts: bytes) -> ClimbCall:
        """The call that goes on with a climb; the arguments are those of `Client.submit_floor`.

        Raises:
            ValueError: The receipt holds no climb.
        """
        try:
            climb = pb.Climb.FromString(receipt.climb)
        except DecodeError as error:
            raise ValueError("the climb of the receipt is no message floors.v1.Climb") from error
        request = pb.SubmitFloorRequest(receipt=receipt, acts=acts).SerializeToString()
        return cls(calls.SUBMIT_FLOOR, request, climb.tower, climb.floor + 1)

    def read(self, encoded: bytes, metadata: calls.ResponseMetadata) -> ClimbFloor:
        """The floor of the response, checked against its own received bytes, and its receipt."""
        try:
            check_entries(encoded, _MAX_ENTRIES)
            parts = {part.number: encoded[part.value : part.end] for part in fields(encoded) if part.wire_type == BYTES}
            receipt = pb.Receipt.FromString(parts.get(1, b""))
            climb = pb.Climb.FromString(receipt.climb)
        except (WireError, DecodeError) as error:
            raise self._malformed(str(error)) from error
        if (climb.tower, climb.floor) != (self._tower, self._number):
            sent = f"floor {climb.floor} of {climb.tower!r} instead of floor {self._number} of {self._tower!r}"
            raise self._malformed(sent)
        if 2 not in parts and self._number > _MAX_FLOOR:
            return ClimbFloor(receipt, climb, None, 0)
        rolls = parts.get(3, b"")
        if 2 not in parts or len(rolls) != _ROLLS_BYTES:
            raise self._malformed(f"it has no floor, or rolls of {len(rolls)} bytes instead of {_ROLLS_BYTES}")
        # Without a name it would be any pack.
        spec = FloorSpec(0, self._number, climb.width, climb.height, pack=climb.pack or "tower")
        floor = calls.read_floor(parts[2], spec, metadata)
        return ClimbFloor(receipt, climb, floor, int.from_bytes(rolls, "little"))

    def _malformed(self, reason: str) -> MalformedResponseError:
        return MalformedResponseError(f"the answer to {self.rpc} is malformed: {reason}")


def read_daily(encoded: bytes) -> pb.Daily:
    """The response to GetDaily."""
    try:
        check_entries(encoded, _MAX_ENTRIES)
        return pb.Daily.FromString(encoded)
    except (WireError, DecodeError) as error:
        raise MalformedResponseError(f"the answer to {calls.DAILY} is malformed: {error}") from error
