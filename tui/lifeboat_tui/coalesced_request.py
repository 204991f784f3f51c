"""Requests of which only one runs at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


class CoalescedRequest:
    """Runs a request one at a time. Calls during a run cause one more run after it; no run is cancelled."""

    def __init__(self, request: Callable[[], Awaitable[object]]) -> None:
        self._request = request
        self._is_running = self._is_wanted = False

    async def run(self) -> None:
        """Run the request, or let the running call repeat it. Raises what the request raises."""
        self._is_wanted = True
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._is_wanted:
                self._is_wanted = False
                await self._request()
        finally:
            self._is_running = False
