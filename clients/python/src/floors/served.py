"""How the server answered a call: the response metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What one tier answered to a traced call."""

    tier: str
    """A tier's name, or `generated`."""
    outcome: str | None
    """hit, miss, error, timeout, slow, bypass or open; None for generation."""
    cost_us: int
    """Duration in microseconds."""


@dataclass(frozen=True, slots=True)
class Served:
    """How the server answered a call. Values that are missing or malformed are as in `Served()`."""

    by: Mapping[str, int] = field(default_factory=dict)
    """Floors from each tier: `floor-served-by`."""
    coalesced: int = 0
    """Floors that another call was getting already: `floor-coalesced`."""
    server_us: int | None = None
    """Microseconds inside the server, if tracing is on: `floor-server-us`."""
    trace: tuple[TraceStep, ...] = ()
    """What each tier answered, in order, if tracing is on: `floor-trace`."""

    @classmethod
    def from_metadata(cls, metadata: Iterable[tuple[str, str | bytes]] | None) -> Served:
        """Read the headers of a response, or the trailers of a stream."""
        texts = {key: value for key, value in metadata or () if isinstance(value, str)}
        server_us = _count(texts.get("floor-server-us", ""))
        return cls(
            by=_counts(texts.get("floor-served-by", "")),
            coalesced=_count(texts.get("floor-coalesced", "")) or 0,
            server_us=server_us,
            trace=tuple(filter(None, map(_step, texts.get("floor-trace", "").split(",")))),
        )

    def with_unknown(self, floors: int) -> Served:
        """With so many more floors of which it is not known where they came from."""
        return replace(self, by={**self.by, "unknown": floors}) if floors else self


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _counts(text: str) -> dict[str, int]:
    """Read `lru` (one floor) or `lru=3,lmdb=5`."""
    counts: dict[str, int] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        tier, equals, number = part.partition("=")
        count = _count(number) if equals else 1
        if count is not None:
            counts[tier] = counts.get(tier, 0) + count
    return counts


def _step(text: str) -> TraceStep | None:
    """Read `lru=miss:1us` or `generated:212us`."""
    what, _, cost = text.strip().rpartition(":")
    us = _count(cost.removesuffix("us"))
    tier, equals, outcome = what.partition("=")
    return TraceStep(tier, outcome if equals else None, us) if tier and us is not None else None
