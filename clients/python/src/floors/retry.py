"""When a failed call is repeated, and after how long."""

from __future__ import annotations

import random
import time

from floors.errors import CallError

_FIRST_WAIT = 0.05
"""Seconds before the second attempt if the server names no time."""
_LONGEST_WAIT = 2.0
"""Seconds between two attempts at the most if the server names no time."""


class Retry:
    """The attempts of one call. Its clock starts with its creation."""

    def __init__(self, deadline: float | None, retries: int) -> None:
        self._ends = None if deadline is None else time.monotonic() + deadline
        self._allowed = retries
        self._made = 0

    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without a deadline."""
        return None if self._ends is None else max(0.0, self._ends - time.monotonic())

    def progressed(self) -> None:
        """Count attempts from 0 again: the stream has delivered a floor."""
        self._made = 0

    def wait_after(self, error: CallError) -> float:
        """Seconds to wait before the next attempt.

        Raises:
            CallError: `error`, if another attempt is not allowed, makes no sense or would be too late.
        """
        if not error.is_transient or self._made >= self._allowed:
            raise error
        backoff: float = min(_FIRST_WAIT * 2**self._made, _LONGEST_WAIT) * random.uniform(0.5, 1.0)  # noqa: S311
        wait = backoff if error.retry_after is None else error.retry_after
        remaining = self.remaining()
        if remaining is not None and wait >= remaining:
            raise error
        self._made += 1
        return wait
