"""The check that every point of a floor exists and lies inside it.

A floor has up to a thousand points, and looking at each takes steps of the interpreter. So the floor is decoded a
second time, with types in which a point is its encoded bytes. In these types rooms, spawns and the like are one message
each, so that protobuf appends the points of all of them. A point below (128, 128) is four bytes: the tags of its fields
and their values, 8, x, 16, y. If the points look different, they are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import Message

from floors.errors import InvalidFloorError
from floors.v1 import floors_pb2 as pb

_X_TAG, _Y_TAG = 0x08, 0x10  # fields 1 and 2, varints
_SHORT = bytes(range(0x80))
"""The varints of one byte."""
_LIST = "label: LABEL_REPEATED type: TYPE_BYTES"
_ONE = "label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name:"
_TYPES = f"""
    name: "floors/points.proto" package: "floors.points" syntax: "proto3"
    message_type {{ name: "Rooms"
        field {{ name: "min" number: 2 {_LIST} }}
        field {{ name: "max" number: 3 {_LIST} }}
        field {{ name: "center" number: 5 {_LIST} }} }}
    message_type {{ name: "Things" field {{ name: "at" number: 1 {_LIST} }} }}
    message_type {{ name: "Locks" field {{ name: "at" number: 2 {_LIST} }} }}
    message_type {{ name: "Points"
        field {{ name: "entry" number: 6 {_LIST} }}
        field {{ name: "exit" number: 7 {_LIST} }}
        field {{ name: "rooms" number: 8 {_ONE} ".floors.points.Rooms" }}
        field {{ name: "spawns" number: 10 {_ONE} ".floors.points.Things" }}
        field {{ name: "items" number: 11 {_ONE} ".floors.points.Things" }}
        field {{ name: "locks" number: 12 {_ONE} ".floors.points.Locks" }}
        field {{ name: "traps" number: 14 {_ONE} ".floors.points.Things" }}
        field {{ name: "landing" number: 17 {_LIST} }} }}
"""
_POOL = descriptor_pool.DescriptorPool()
_FILE = text_format.Parse(_TYPES, descriptor_pb2.FileDescriptorProto())
_POOL.AddSerializedFile(_FILE.SerializeToString())
_Points: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("floors.points.Points"))


def check(encoded: bytes, message: pb.Floor) -> None:
    """Check every point of `message`, which is `encoded` decoded.

    Raises:
        InvalidFloorError: A point is missing, or lies outside the floor.
    """
    width, height = message.spec.width, message.spec.height
    points = _Points.FromString(encoded)
    rooms, count = points.rooms, len(message.rooms)
    parts = (
        (points.entry, 1),
        (points.exit, 1),
        (rooms.min, count),
        (rooms.max, count),
        (rooms.center, count),
        (points.spawns.at, len(message.spawns)),
        (points.items.at, len(message.items)),
        (points.locks.at, len(message.locks)),
        (points.traps.at, len(message.traps)),
        (points.landing, int(message.HasField("landing"))),
    )
    packed = b"".join([b"".join(part) for part, _ in parts])
    if (
        any(len(part) != wanted for part, wanted in parts)
        or not packed[0::4].count(_X_TAG) == packed[2::4].count(_Y_TAG) == len(packed) / 4
        or packed[1::4].translate(None, _SHORT[:width])
        or packed[3::4].translate(None, _SHORT[:height])
    ):
        _look_at_each(message, width, height)
    for kind in message.furniture:
        last = sum(kind.cells)
        if last >= width * height:
            raise InvalidFloorError(f"its furniture {kind.archetype} has cell {last}, outside the floor")


def _look_at_each(message: pb.Floor, width: int, height: int) -> None:
    points: tuple[tuple[str, Iterable[Message], tuple[str, ...]], ...] = (
        ("entry", (message,), ("entry",)),
        ("exit", (message,), ("exit",)),
        ("room", message.rooms, ("min", "max", "center")),
        ("spawn", message.spawns, ("at",)),
        ("item", message.items, ("at",)),
        ("lock", message.locks, ("at",)),
        ("trap", message.traps, ("at",)),
        ("landing", (message,) if message.HasField("landing") else (), ("landing",)),
    )
    for what, holders, names in points:
        for holder in holders:
            for name in names:
                at = getattr(holder, name)
                if not holder.HasField(name):
                    raise InvalidFloorError(f"the position of its {what} is missing")
                if at.x >= width or at.y >= height:
                    raise InvalidFloorError(f"its {what} lies at ({at.x}, {at.y}), outside the floor")
