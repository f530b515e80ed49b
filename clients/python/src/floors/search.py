"""A search: what its calls ask for, one after the other, and what they find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from google.protobuf.message import DecodeError

from floors.calls import SEARCH, checked
from floors.errors import InvalidFloorError, MalformedResponseError, WrongFloorError
from floors.floor import matches
from floors.spec import FloorSpec, seed_of, whole
from floors.v1 import floors_pb2 as pb
from floors.wire import WireError, check_matches

_MAX_SEEDS = 1000
"""The most towers of a call."""
_MAX_ENTRIES = 256 + 16
"""The most matches of an answer, and what a newer server may send beside them."""


class Match(NamedTuple):
    """A floor that meets the condition of a search."""

    spec: FloorSpec
    """The resolved spec: number, width, height and kind are never 0."""
    name: str
    """What the floor is called; empty if it has no name."""


class Search:
    """The calls of a search."""

    def __init__(
        self, first: FloorSpec, count: int, condition: str, seeds: Iterable[int | str], limit: int | None
    ) -> None:
        """Prepare the calls; the arguments are those of `Client.search`.

        Raises:
            TypeError: An argument is of another type; the message names it.
            ValueError: A number is negative or too large, or a text names no tower.
        """
        if not isinstance(condition, str):
            raise TypeError(f"condition {condition!r} is no text: write one, such as 'kind == cavern && loops > 4'")
        if isinstance(seeds, str) or not isinstance(seeds, Iterable):
            raise TypeError(f"seeds {seeds!r} is no list: write the towers, such as [42, 'my dungeon']")
        self._first = checked(first)
        self._count = whole("count", count, 2**32 - 1)
        self._condition = condition
        self._towers = map(seed_of, seeds)
        self._seeds = self._next_seeds()
        self._skip = 0
        self._left = None if limit is None else whole("limit", limit, 2**32 - 1)

    def requests(self) -> Iterator[bytes]:
        """The encoded SearchFloorsRequest of each call. `read` gets the response before the next one is taken."""
        while self._left != 0:
            yield pb.SearchFloorsRequest(
                first=self._first.to_message(),
                count=self._count,
                condition=self._condition,
                seeds=self._seeds,
                skip=self._skip,
                limit=self._left,
            ).SerializeToString()
            if self._skip == 0:
                self._seeds = self._next_seeds()
                if not self._seeds:
                    return

    def read(self, encoded: bytes) -> list[Match]:
        """The matches of a response."""
        try:
            check_matches(encoded, _MAX_ENTRIES)
            response = pb.SearchFloorsResponse.FromString(encoded)
        except (WireError, DecodeError) as error:
            raise MalformedResponseError(f"the answer to {SEARCH} is malformed: {error}") from error
        if 0 < response.next <= self._skip:
            places = f"it goes on at {response.next}, where it had skipped {self._skip} floors"
            raise MalformedResponseError(f"the answer to {SEARCH} is malformed: {places}")
        self._skip = response.next
        found = [self._match(message) for message in response.matches][: self._left]
        if self._left is not None:
            self._left -= len(found)
        return found

    def _next_seeds(self) -> list[int]:
        return list(islice(self._towers, _MAX_SEEDS))

    def _match(self, message: pb.FloorMatch) -> Match:
        """A match that must be one of the floors that were asked for."""
        try:
            spec = FloorSpec.from_message(message.spec)
        except ValueError as error:
            raise InvalidFloorError(f"the spec of a match is broken: {error}") from error
        first, seeds = self._first, self._seeds or [self._first.seed]
        is_in_range = first.number <= spec.number < first.number + self._count
        asked = replace(
            first,
            seed=spec.seed if spec.seed in seeds else seeds[0],
            number=spec.number if is_in_range else first.number,
        )
        if not is_in_range or not matches(spec, asked):
            wrong = WrongFloorError(asked, spec)
            wrong.args = (f"in a search of {self._count} floors from number {first.number} on: {wrong}",)
            raise wrong
        return Match(spec, message.name.text)
