"""The name of a floor, and the numbers of kinds, views, terrains, roles and behaviours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from operator import index
from typing import SupportsIndex, cast

from floors import towers
from floors.v1 import floors_pb2 as pb

_U64, _U32, _ENUM = 2**64 - 1, 2**32 - 1, 2**31 - 1
"""The greatest values of fields."""


class _Numbers(IntEnum):
    """Numbers of the .proto. They equal the enums of the messages, which type checkers take for other types."""

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    __hash__ = IntEnum.__hash__


class Kind(_Numbers):
    """The style in which a floor is built (docs/generator.md)."""

    STANDARD = 1
    KEEP = 2
    HALLS = 3
    CAVERN = 4
    CYCLIC = 5
    MAZE = 6
    BOSS = 7
    EVENT = 8
    STORY = 9


class View(_Numbers):
    """What of a floor is sent. Each view has its own content hash."""

    EVERYTHING = 0
    PLAYER = 1
    """What a player may know on arrival with a map in hand (docs/protocol.md)."""


class Terrain(_Numbers):
    """What a cell is made of. Treat an unknown terrain as impassable."""

    WALL = 1
    FLOOR = 2
    DOOR = 3
    LOCKED_DOOR = 4
    SECRET_DOOR = 5
    STAIRS_UP = 6
    STAIRS_DOWN = 7
    SHALLOW_WATER = 8
    DEEP_WATER = 9
    LAVA = 10
    CHASM = 11
    BRIDGE = 12
    GRASS = 13
    RUBBLE = 14
    PILLAR = 15


class RoomRole(_Numbers):
    """The purpose of a room."""

    ENTRY = 1
    EXIT = 2
    COMBAT = 3
    TREASURE = 4
    KEY = 5
    SHRINE = 6
    SHOP = 7
    BOSS = 8
    VAULT = 9
    SECRET = 10
    PASSAGE = 11


class Behaviour(_Numbers):
    """What a monster does until it notices a player. Treat an unknown behaviour as `GUARDS`."""

    SLEEPS = 1
    GUARDS = 2
    PATROLS = 3
    WANDERS = 4


def whole(name: str, value: object, largest: int) -> int:
    """The integer `value`, also one of NumPy. A float may have been rounded, and a bool is a mistake.

    Raises:
        TypeError: It is no integer.
        ValueError: It is negative or greater than `largest`.
    """
    try:
        number = index(cast("SupportsIndex", value))
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} {value!r} is no integer: write a whole number from 0 to {largest}")
    if not 0 <= number <= largest:
        raise ValueError(f"{name} {number} is not in 0 ..= {largest}")
    return number


def seed_of(value: int | str) -> int:
    """The seed that is given as a number, also one of NumPy, or as a text: see `seed`.

    Raises:
        TypeError: It is neither an integer nor a text.
        ValueError: It is no number of 64 bits, or a text that names no tower.
    """
    return towers.seed(value) if isinstance(value, str) else whole("seed", value, _U64)


def _numbered(name: str, value: object, numbers: type[_Numbers]) -> int:
    """The number of a value, which is given as such or by its name in lower case.

    Raises:
        TypeError: It is neither an integer nor a text.
        ValueError: It is an unknown name, or no number of the .proto.
    """
    if not isinstance(value, str):
        return whole(name, value, _ENUM)
    known = {member.name.lower(): int(member) for member in numbers}
    if value not in known:
        raise ValueError(f"{name} {value!r} is none of {', '.join(known)}")
    return known[value]


@dataclass(frozen=True, slots=True, init=False)
class FloorSpec:
    """Names a floor. In a floor that the server sent, number, width, height and kind are never 0.

    The server checks the ranges: numbers 1 to 1,000,000, sides 16 to 512 cells.
    """

    seed: int
    """The tower, any 64 bits."""
    number: int
    """The number of the floor in its tower, from 1."""
    width: int = 0
    """Cells from west to east; 0 for those of the pack, which are 100 in the built-in one."""
    height: int = 0
    """Cells from north to south; 0 as for the width."""
    kind: int = 0
    """A `Kind`, or the number of a kind that this version does not know; 0: the tower's schedule decides."""
    pack: str = ""
    """The pack that has the content: NAME, or NAME@HASH for one version; empty for the server's default.

    In a floor that the server sent, empty for the built-in pack and NAME@HASH for any other.
    """
    view: int = 0
    """A `View`, or the number of one that this version does not know; 0: everything. Another view is another floor."""

    def __init__(
        self,
        seed: int | str,
        number: int,
        width: int = 0,
        height: int = 0,
        kind: int | str | None = 0,
        pack: str = "",
        view: int | str = 0,
    ) -> None:
        """Name a floor. Integers may be those of NumPy.

        Args:
            seed: A number, or a text that names the tower: see `seed`.
            number: As the field.
            width: As the field.
            height: As the field.
            kind: As the field, or the name of a kind, such as "cavern". None is 0.
            pack: As the field.
            view: As the field, or "everything" or "player".

        Raises:
            TypeError: A field is of another type; the message names it.
            ValueError: A field is negative, too large, or a text that names nothing; the message names it.
        """
        if not isinstance(pack, str):
            raise TypeError(f"pack {pack!r} is no text: write NAME or NAME@HASH")
        checked = {
            "seed": seed_of(seed),
            "number": whole("number", number, _U32),
            "width": whole("width", width, _U32),
            "height": whole("height", height, _U32),
            "kind": 0 if kind is None else _numbered("kind", kind, Kind),
            "pack": pack,
            "view": _numbered("view", view, View),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_message(cls, message: pb.FloorSpec) -> FloorSpec:
        """The spec in a message."""
        return cls(
            message.seed,
            message.number,
            message.width,
            message.height,
            message.kind,
            message.pack,
            message.view,
        )

    def to_message(self) -> pb.FloorSpec:
        """The spec as a message."""
        return pb.FloorSpec(
            seed=self.seed,
            number=self.number,
            width=self.width,
            height=self.height,
            kind=cast("pb.FloorKind", self.kind),
            pack=self.pack,
            view=cast("pb.View", self.view),
        )

    def at(self, number: int) -> FloorSpec:
        """The floor `number` of the same tower, with the same size, kind, pack and view."""
        return FloorSpec(self.seed, number, self.width, self.height, self.kind, self.pack, self.view)

    def may_be_of(self, pack: str) -> bool:
        """Whether a floor whose spec has `pack` is of the pack that this spec names."""
        if self.pack in ("", pack):
            return True
        return self.pack == (pack.partition("@")[0] or "tower")

    def __str__(self) -> str:
        """As in `floor 7 of tower 42`."""
        return f"floor {self.number} of tower {self.seed}"
