"""When a failed call is repeated, and after how long. The rules are those of docs/protocol.md."""

from __future__ import annotations

import random
import time
from threading import Event

from floors.errors import CallError

_FIRST_WAIT = 0.1
"""Seconds before the second attempt at most if the server names no time."""
_LONGEST_WAIT = 2.0
"""Seconds between two attempts at most if the server names no time."""

_RESTART = 10.0
"""Seconds for which a server that restarts is awaited: an attempt that no server accepted is not counted."""
_FIRST = 3.0
"""Seconds for which a server is awaited that was never reached."""


class Retry:
    """The attempts of one call. Its clock starts with its creation."""

    def __init__(self, deadline: float | None, retries: int, reached: Event, first: float | None = None) -> None:
        """`deadline` is that of the whole call, `first` that of the first floor of a stream, both in seconds.

        `reached` is set as soon as the server answers; the calls of a connection share it.
        """
        self._ends = _in(deadline)
        self._first_ends = _in(first)
        self._allowed = retries
        self._failed = 0
        self._waits = 0
        self._awaited_until = _in(_RESTART)
        self._reached = reached
        self._reach_until = _in(_FIRST)

    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without a deadline."""
        return _until(self._ends)

    def floor_timeout(self, limit: float | None) -> float | None:
        """Seconds that the next floor of a stream may take, if no floor may take longer than `limit`."""
        limits = (limit, _until(self._ends), _until(self._first_ends))
        return min((limit for limit in limits if limit is not None), default=None)

    def progressed(self) -> None:
        """Count attempts from 0 again: the server has answered, in a stream with a floor."""
        self._reached.set()
        self._failed = self._waits = 0
        self._first_ends = None
        self._awaited_until = _in(_RESTART)

    def wait_after(self, error: CallError) -> float:
        """Seconds to wait before the next attempt.

        Raises:
            CallError: `error`, if another attempt is not allowed, makes no sense or would be too late.
        """
        if error.is_answer:
            self._reached.set()
        self._failed += not (error.is_refused and _until(self._awaited_until))
        if not error.is_transient or self._allowed == 0 or self._failed > self._allowed:
            raise error
        wait = error.retry_after
        if wait is None:
            wait = random.uniform(0, min(_FIRST_WAIT * 2**self._waits, _LONGEST_WAIT))  # noqa: S311
            self._waits += 1
        limits = (self.floor_timeout(None), None if self._reached.is_set() else _until(self._reach_until))
        if any(limit is not None and wait >= limit for limit in limits):
            raise error
        return wait


def _in(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def _until(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
