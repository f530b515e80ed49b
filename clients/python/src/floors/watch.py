"""A limit on the wait for one message of a synchronous stream, which gRPC does not have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watch:
    """Cancels a call when a wait for its next message takes too long. One thread watches all waits of the call."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self.expired = False
        self._cancel = cancel
        self._ends: float | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def wait(self, seconds: float | None) -> Iterator[None]:
        """A wait of so many seconds at most."""
        if seconds is None:
            yield
            return
        self._ends = time.monotonic() + seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=[seconds], daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            self._ends = None

    def close(self) -> None:
        """End the thread."""
        self._closed.set()

    def _run(self, longest: float) -> None:
        sleep = longest
        while not self._closed.wait(sleep):
            ends = self._ends
            sleep = longest if ends is None else ends - time.monotonic()
            if sleep <= 0:
                self.expired = True
                self._cancel()
                return
