"""A floor, decoded and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from operator import index
from typing import NamedTuple, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from floors import content_hash, grid, points, wire
from floors.errors import GridError, InvalidFloorError, WrongFloorError
from floors.grid import Cells
from floors.served import Served
from floors.spec import FloorSpec, Terrain, whole
from floors.v1 import floors_pb2 as pb
from floors.ways import FAR, Cell, shortest, steps_from

Place: TypeAlias = tuple[int, int] | pb.Point
"""A cell: (x, y), or a point of a floor, such as `floor.entry`."""

_PASSABLE = np.zeros(256, dtype=np.bool_)
_PASSABLE[
    [
        Terrain.FLOOR,
        Terrain.DOOR,
        Terrain.STAIRS_UP,
        Terrain.STAIRS_DOWN,
        Terrain.SHALLOW_WATER,
        Terrain.BRIDGE,
        Terrain.GRASS,
        Terrain.RUBBLE,
    ]
] = True
_NO_STARTS = [Terrain.DOOR, Terrain.STAIRS_DOWN]


class Furniture(NamedTuple):
    """A piece of furniture on its cell. One can walk over it unless the terrain of its cell is `Terrain.PILLAR`."""

    archetype: str
    """The name of its type. Treat an unknown one as decoration."""
    x: int
    """Column."""
    y: int
    """Row."""


class Floor:
    """A floor whose content hash, grids and points are checked: all points lie inside it.

    Arrays have `height` rows and `width` columns: cell (x, y) is `floor.terrain[y, x]`. They are the program's own and
    can be written to. Rooms, monsters and the like are messages, as docs/protocol.md explains them.

    Floors of the same spec and content hash are equal.
    """

    __slots__ = ("__dict__", "content_hash", "encoded", "message", "region", "served", "spec", "terrain")

    encoded: bytes
    """The message as received."""
    message: pb.Floor
    """The message, decoded."""
    spec: FloorSpec
    """The resolved spec: number, width, height and kind are never 0."""
    content_hash: int
    """The content hash, checked against the received bytes."""
    terrain: Cells
    """A `Terrain` for each cell, or the number of a terrain that this version does not know, which is impassable."""
    region: Cells
    """Room id + 1 for each cell, 0 = no room."""
    served: Served
    """How the server answered the call. None for floors of a batch or stream, which have it themselves."""

    def __init__(self, encoded: bytes, requested: FloorSpec | None = None) -> None:
        """Decode the bytes of a `floors.v1.Floor` from any source.

        `requested`, if given, is the spec that the floor must match; its fields that are 0 match any value, except for
        the seed and the view.

        Raises:
            InvalidFloorError: The bytes are no valid floor; its subclasses are `HashMismatchError` for a wrong hash,
                `GridError` for a malformed grid and `WrongFloorError` for a floor that was not requested.
        """
        try:
            wire.check_floor(encoded)
        except wire.WireError as error:
            raise InvalidFloorError(f"the bytes are no floor: {error}") from error
        self.content_hash = content_hash.verify(encoded)
        try:
            message = pb.Floor.FromString(encoded)
        except DecodeError as error:
            raise InvalidFloorError(f"the bytes are no floor: {error}") from error
        if message.content_hash != self.content_hash:  # the last of several hash fields counts for the decoder
            raise InvalidFloorError("the floor carries more than one content hash")
        self.encoded = encoded
        self.message = message
        try:
            self.spec = FloorSpec.from_message(message.spec)
        except ValueError as error:
            raise InvalidFloorError(f"its spec is broken: {error}") from error
        if requested is not None and not matches(self.spec, requested):
            raise WrongFloorError(requested, self.spec)
        self.terrain = self._cells("terrain", message.terrain)
        self.region = self._cells("region", message.region)
        if message.terrain.palette[0] == 0 and not self.terrain.all():
            raise InvalidFloorError("a cell holds no terrain")
        points.check(encoded, message)
        self.served = Served()

    def _cells(self, name: str, encoded: pb.Grid) -> Cells:
        if encoded.width != self.spec.width or encoded.height != self.spec.height:
            for field in ("spec", name):
                if not self.message.HasField(field):
                    raise InvalidFloorError(f"it has no {field}")
            sizes = f"{encoded.width}x{encoded.height} cells, the floor {self.spec.width}x{self.spec.height}"
            raise GridError(f"its {name} grid has {sizes}")
        try:
            return grid.decode(encoded)
        except GridError as error:
            raise GridError(f"its {name} grid is broken: {error}") from error

    @property
    def width(self) -> int:
        """Cells from west to east."""
        return self.spec.width

    @property
    def height(self) -> int:
        """Cells from north to south."""
        return self.spec.height

    @property
    def generator_version(self) -> int:
        """The version of the generator that made the floor."""
        return self.message.generator_version

    @property
    def theme(self) -> str:
        """The name of its theme. Empty for a floor of the built-in pack before generator version 4."""
        return self.message.theme

    @property
    def name(self) -> str:
        """What the floor is called. Empty before generator version 5, and for authored floors without a name.

        `message.name` also has the ids with which a game says it in another language.
        """
        return self.message.name.text

    @property
    def hook(self) -> str:
        """A sentence that makes one want to go there. Empty where the name is."""
        return self.message.hook.text

    @property
    def landmark(self) -> pb.Room | None:
        """The room that the floor is remembered by."""
        return next((room for room in self.rooms if room.id + 1 == self.message.landmark), None)

    @property
    def furniture(self) -> list[Furniture]:
        """What rooms are furnished with, type by type."""
        return [
            Furniture(kind.archetype, cell % self.width, cell // self.width)
            for kind in self.message.furniture
            for cell in accumulate(kind.cells)
        ]

    @property
    def pack_hash(self) -> int:
        """The hash of the pack in `spec.pack`; 0 for the built-in pack."""
        return self.message.pack_hash

    @property
    def entry(self) -> pb.Point:
        """The stairs up, where a player arrives. They lie inside the floor."""
        return self.message.entry

    @property
    def exit(self) -> pb.Point:
        """The stairs to the next floor. They lie inside the floor."""
        return self.message.exit

    @property
    def landing(self) -> pb.Point:
        """Where a player lands who falls through a chasm of the floor above, unless the same cell is passable here.

        The entry for a floor without a landing, as those before generator version 4.
        """
        return self.message.landing if self.message.HasField("landing") else self.message.entry

    @property
    def rooms(self) -> Sequence[pb.Room]:
        """The rooms; room `i` has id `i`."""
        return self.message.rooms

    @property
    def connections(self) -> Sequence[pb.Connection]:
        """The connections between rooms."""
        return self.message.connections

    @property
    def spawns(self) -> Sequence[pb.Spawn]:
        """The monsters."""
        return self.message.spawns

    @property
    def items(self) -> Sequence[pb.Item]:
        """Loot and keys."""
        return self.message.items

    @property
    def locks(self) -> Sequence[pb.Lock]:
        """The locks; lock `i` has id `i + 1`."""
        return self.message.locks

    @property
    def traps(self) -> Sequence[pb.Trap]:
        """The traps."""
        return self.message.traps

    @property
    def metrics(self) -> pb.FloorMetrics:
        """Measures of the floor as a whole."""
        return self.message.metrics

    @cached_property
    def passable(self) -> NDArray[np.bool_]:
        """Whether a player without keys who does not search can enter each cell."""
        return _PASSABLE[self.terrain]

    def passable_with(self, keys: Iterable[int]) -> NDArray[np.bool_]:
        """Whether a walker with the keys of these locks can enter each cell: everybody can, or it is the door of one.

        `keys` are ids of locks. Like all ways, this is of `terrain` as it is now.

        Raises:
            TypeError: The keys are no integers.
        """
        held = _ids(keys)
        passable = _PASSABLE[self.terrain]
        for lock in reversed(self.locks):  # the first lock of a cell counts
            if self.terrain[lock.at.y, lock.at.x] == Terrain.LOCKED_DOOR:
                passable[lock.at.y, lock.at.x] = lock.id in held
        return passable

    def reachable(self, start: Place, keys: Iterable[int] = ()) -> NDArray[np.bool_]:
        """Whether a walker with these keys gets to each cell from `start`, which is itself among them.

        A step leads to one of the four neighbours of a cell. None is reached from outside the floor.

        Raises:
            TypeError: The place is none, or the keys are no integers.
        """
        passable, first = self.passable_with(keys), self._inside("start", start)
        return np.zeros_like(passable) if first is None else steps_from(first, passable) != FAR

    def path(self, start: Place, end: Place, keys: Iterable[int] = ()) -> list[Cell] | None:
        """The cells of the shortest way for a walker with these keys, both ends among them; None if there is none.

        Nobody needs to be able to enter `start`. Of ways with as few steps it is the one whose first different step
        leads north, else west, else east.

        Raises:
            TypeError: A place is none, or the keys are no integers.
        """
        passable, first, last = self.passable_with(keys), self._inside("start", start), self._inside("end", end)
        return None if first is None or last is None else shortest(first, last, passable)

    def distance(self, start: Place, end: Place, keys: Iterable[int] = ()) -> int | None:
        """The steps of that way, 0 from a cell to itself."""
        path = self.path(start, end, keys)
        return None if path is None else len(path) - 1

    def starts(self, count: int) -> list[Cell]:
        """Cells for a party of `count`, each of its own; fewer if there are no more.

        They are those nearest to the entry that everybody can reach without keys, but for doors and the stairs down. As
        near ones come row by row.

        Raises:
            TypeError: The count is no integer.
            ValueError: The count is negative.
        """
        count = whole("count", count, 2**32 - 1)
        steps = steps_from(Cell(self.entry.x, self.entry.y), self.passable_with(()))
        steps[np.isin(self.terrain, _NO_STARTS)] = FAR
        nearest = np.argsort(steps, axis=None, kind="stable")[: min(count, np.count_nonzero(steps != FAR))]
        return [Cell(cell % self.width, cell // self.width) for cell in nearest.tolist()]

    def _inside(self, name: str, place: Place) -> Cell | None:
        """The cell; None outside the floor."""
        try:
            x, y = (place.x, place.y) if isinstance(place, pb.Point) else place
            x, y = index(x), index(y)
        except (TypeError, ValueError):
            raise TypeError(f"{name} {place!r} is no cell: write (x, y), or a point such as floor.entry") from None
        return Cell(x, y) if 0 <= x < self.width and 0 <= y < self.height else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Floor):
            return NotImplemented
        return (self.spec, self.content_hash) == (other.spec, other.content_hash)

    def __hash__(self) -> int:
        return hash((self.spec, self.content_hash))

    def __repr__(self) -> str:
        """As in `<Floor 7 of tower 42, 100x100, hash 0123456789abcdef>`."""
        spec = self.spec
        return f"<Floor {spec.number} of tower {spec.seed}, {spec.width}x{spec.height}, hash {self.content_hash:016x}>"


class Batch(list[Floor]):
    """The floors of a batch, in the order of the request."""

    def __init__(self, floors: Iterable[Floor], served: Served) -> None:
        super().__init__(floors)
        self.served = served
        """How the server answered the call."""


def matches(received: FloorSpec, requested: FloorSpec) -> bool:
    """Whether a floor with the spec `received` is the one that `requested` names."""
    return (
        received.seed == requested.seed
        and received.number == requested.number
        and requested.width in (0, received.width)
        and requested.height in (0, received.height)
        and requested.kind in (0, received.kind)
        and requested.may_be_of(received.pack)
        and requested.view == received.view
    )


def _ids(keys: Iterable[int]) -> set[int]:
    if not isinstance(keys, Iterable):
        raise TypeError(f"keys {keys!r} is no list: write the ids of locks, such as [1, 2]")
    return {whole("a key", key, 2**32 - 1) for key in keys}
