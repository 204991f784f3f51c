"""A clock for HTTP sessions that a stalling server sets forward, so that no client under test needs a short limit."""

from __future__ import annotations

import time

import pytest

from lifeboat_core.network import http_session
from lifeboat_core.network.http_session import TransferPace
from support.talking_server import TalkingServer

PACE = TransferPace(connect=600.0, silence=3600.0, least=64)
"""Long enough for every answer of a busy machine. A server that stalls lets the silence pass at once."""


class SkippingClock:
    """Real time plus the seconds that were skipped."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._skipped

    def skip(self, seconds: float) -> None:
        self._skipped += seconds


def skip_silence(monkeypatch: pytest.MonkeyPatch, server: TalkingServer | None = None) -> SkippingClock:
    """Give the HTTP sessions of this process a clock on which a third of `PACE.silence` passes with each round of a
    stalling reply of `server`."""
    clock = SkippingClock()
    monkeypatch.setattr(http_session, "time", clock)
    if server is not None:
        server.while_stalling = lambda: clock.skip(PACE.silence / 3)
    return clock
