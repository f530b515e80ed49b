"""The fields of an encoded message, without decoding it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


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
