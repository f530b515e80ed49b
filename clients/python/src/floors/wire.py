"""The fields of an encoded message, without decoding it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_ENTRY_BYTES = 2
"""The fewest bytes of a field with a length: its tag and its length."""
MAX_FLOOR_ENTRIES = 512 * 512
"""The most entries in all lists of a floor together: as many as the largest floor has cells."""
_GRIDS, _PALETTE = (4, 5), 3
_ROOMS, _ROOM_NAME, _TEXTS, _FURNITURE = 8, 6, (18, 19), 21
_MATCHES, _MATCH_NAME = 1, 2


class Field(NamedTuple):
    """Where a field lies in a message."""

    number: int
    wire_type: int
    start: int
    """The first byte of its tag."""
    value: int
    """The first byte of its value, after the length if it has one."""
    end: int


class WireError(ValueError):
    """The bytes are no protobuf message."""


def varint(message: bytes, at: int) -> tuple[int, int]:
    """A varint and the position after it.

    Raises:
        WireError: The message ends within the varint, or the varint is too long.
    """
    value = 0
    for shift, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    raise WireError(f"the varint at byte {at} does not end")


def fields(message: bytes) -> Iterator[Field]:
    """The fields of `message` in order.

    Raises:
        WireError: The bytes are no message.
    """
    at = 0
    while at < len(message):
        start = at
        tag, value = varint(message, at)
        wire_type = tag & 7
        if wire_type == VARINT:
            _, at = varint(message, value)
        elif wire_type == FIXED64:
            at = value + 8
        elif wire_type == BYTES:
            length, value = varint(message, value)
            at = value + length
        elif wire_type == FIXED32:
            at = value + 4
        else:
            raise WireError(f"wire type {wire_type} at byte {start}")
        if at > len(message):
            raise WireError(f"field {tag >> 3} at byte {start} does not end")
        yield Field(tag >> 3, wire_type, start, value, at)


def check_entries(message: bytes, most: int) -> None:
    """Check that a message has at most `most` fields with a length, before it is decoded.

    An empty message in a list has two bytes on the wire, and takes forty times as many when it is decoded.

    Raises:
        WireError: It has more, or is none.
    """
    if len(message) // _ENTRY_BYTES <= most:
        return
    entries = 0
    for field in fields(message):
        entries += field.wire_type == BYTES
        if entries > most:
            raise WireError(f"the message has more than {most} entries")


def check_floor(encoded: bytes) -> None:
    """The same for a floor, in which the bytes of palettes and furniture count too, and the parts of texts.

    Costs nothing for one that is too short for so many.

    Raises:
        WireError: It has more entries than any floor, or is no message.
    """
    if len(encoded) // _ENTRY_BYTES <= MAX_FLOOR_ENTRIES:
        return
    entries = 0
    for field in fields(encoded):
        entries += field.wire_type == BYTES
        if field.wire_type != BYTES:
            continue
        value = encoded[field.value : field.end]
        if field.number in _GRIDS:
            entries += sum(part.end - part.start for part in fields(value) if part.number == _PALETTE)
        elif field.number in _TEXTS:
            entries += _lengths(value)
        elif field.number == _ROOMS:
            entries += _parts(value, _ROOM_NAME)
        elif field.number == _FURNITURE:
            entries += len(value)
        if entries > MAX_FLOOR_ENTRIES:
            raise WireError(f"the message has more than {MAX_FLOOR_ENTRIES} entries")


def check_matches(encoded: bytes, most: int) -> None:
    """The same for the answer to a search of `most` entries, in which the parts of names count too.

    Raises:
        WireError: It has more entries, or its names more parts than any floor has, or it is no message.
    """
    check_entries(encoded, most)
    found = (field for field in fields(encoded) if field.number == _MATCHES and field.wire_type == BYTES)
    if sum(_parts(encoded[field.value : field.end], _MATCH_NAME) for field in found) > MAX_FLOOR_ENTRIES:
        raise WireError(f"the names of the matches have more than {MAX_FLOOR_ENTRIES} parts")


def _parts(message: bytes, name: int) -> int:
    """The fields with a length of the name of a room or a match, which is the field `name`."""
    names = (field for field in fields(message) if field.number == name and field.wire_type == BYTES)
    return sum(_lengths(message[field.value : field.end]) for field in names)


def _lengths(message: bytes) -> int:
    """The fields with a length."""
    return sum(field.wire_type == BYTES for field in fields(message))
