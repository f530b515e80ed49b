"""The options of calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import TypeAlias

from floors.retry import Retry

Token: TypeAlias = str | Callable[[], str]
Metadata: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Options of the calls that one client makes."""

    deadline: float | None = 10.0
    """Seconds for a whole call: connecting, all attempts, the waits between them; in a stream for the first floor, and
    for the next one in each attempt. None: no limit."""
    stream_deadline: float | None = None
    """Seconds for a whole stream, with the time that the program spends on its floors. None: no limit."""
    retries: int = 4
    """Further attempts when the connection fails, or the server is draining or refuses the call for now. The client
    waits as long as the server says; otherwise up to 100 ms, doubled after each attempt up to 2 s. A server that was
    never reached is awaited for 3 s."""
    no_cache: bool = False
    """Skips the lookup in every tier. By default, servers allow that to callers on their own machine only."""
    trace: bool = False
    """Fills `Served.trace` and `Served.server_us`."""
    generator_version: int | None = None
    """Accepts floors of this generator version only, for games whose towers must not change: store what `server_info`
    returned when a tower was made. A balancer can route by it. A server of another version answers with
    `FailedPreconditionError`."""

    def retry(self, reached: Event) -> Retry:
        """The attempts of a call. `reached` is that of its connection."""
        return Retry(self.deadline, self.retries, reached)

    def stream_retry(self, reached: Event) -> Retry:
        """The attempts of a stream."""
        return Retry(self.stream_deadline, self.retries, reached, first=self.deadline)

    def metadata(self, token: Token | None) -> Metadata:
        """The headers of a call. A function as `token` is called for each attempt."""
        headers: list[tuple[str, str]] = []
        if self.no_cache:
            headers.append(("cache-control", "no-cache"))
        if self.trace:
            headers.append(("floor-trace", "1"))
        if self.generator_version is not None:
            headers.append(("floor-generator-version", str(self.generator_version)))
        if token is not None:
            headers.append(("authorization", f"Bearer {token() if callable(token) else token}"))
        return tuple(headers)
