"""`lifeboat status --watch`: print the status again after every change, until Ctrl+C.

The daemon reports changes. Without a daemon, this command checks every few seconds, and says so once. On a terminal the
screen is redrawn; elsewhere every change is one line.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from rich.control import Control
from rich.screen import Screen
from rich.text import Text

from lifeboat_cli.status import status_text
from lifeboat_cli.status.status_view import StatusView, view_status
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.errors import ServiceError
from lifeboat_core.health.agent_status import FOR_PEOPLE, AgentStatus
from lifeboat_core.texts.human_text import time_text
from lifeboat_daemon.control.daemon_client import DaemonClient, connect_if_running

WITHOUT_DAEMON = 5.0
"""Seconds between two checks."""
AGES = 30.0
"""Seconds after which displayed ages are refreshed."""
GATHER = 0.2
"""Seconds in which events are collected before the next check."""


def watch_status(
    session: CommandSession,
    name: str | None,
    *,
    pause: float = WITHOUT_DAEMON,
    is_over: Callable[[], bool] = lambda: False,
) -> int:
    """Print until Ctrl+C, which is the normal end, or until `is_over` returns True after a check. `pause` is in
    seconds. Raises UnknownAgent, AgentError.AMBIGUOUS_AGENT."""
    news = _StatusEvents(session, pause)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(news), _page(session) as page:
        while True:
            page.show(view_status(session, name))
            if is_over():
                break
            page.say(news.wait())
    return 0


# Waiting for changes --------------------------------------------------------------------------------------------


class _StatusEvents:
    """Waits for changes: for events of the daemon or, without one, for some time."""

    def __init__(self, session: CommandSession, pause: float) -> None:
        self._session = session
        self._pause = pause
        self._client: DaemonClient | None = None
        self._events: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._has_said = False

    def wait(self) -> str | None:
        """Wait until the next check is due. Return a remark to print, once; "" withdraws the former one."""
        if self._client is None:
            return "" if self._connect() else self._without_daemon()
        self._has_said = False
        with contextlib.suppress(queue.Empty):
            happened = [self._events.get(timeout=AGES)]
            time.sleep(GATHER)
            while not self._events.empty():
                happened.append(self._events.get_nowait())
            if not all(happened):
                self.close()
        return None

    def _without_daemon(self) -> str | None:
        if not self._has_said:
            self._has_said = True
            return f"The daemon is not running, so this command checks the state every {self._pause:g} seconds."
        time.sleep(self._pause)
        return None

    def _connect(self) -> bool:
        try:
            self._client = connect_if_running(self._session.context.home, self._session.context.files)
            if self._client is not None:
                self._client.subscribe()
        except ServiceError:
            self._client = None
        if self._client is None:
            return False
        self._events = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(self._client, self._events), name="events", daemon=True).start()
        return True

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _listen(client: DaemonClient, events: queue.SimpleQueue[bool]) -> None:
    """Put True for every event, and False at the end."""
    with contextlib.suppress(ServiceError, OSError):
        for _ in client.events():
            events.put(True)
    events.put(False)


# Display --------------------------------------------------------------------------------------------------------


class _StatusPage(Protocol):
    def show(self, seen: StatusView) -> None: ...

    def say(self, remark: str | None) -> None: ...


@contextlib.contextmanager
def _page(session: CommandSession) -> Iterator[_StatusPage]:
    if session.output.console.is_terminal:
        with session.output.console.screen():
            yield _StatusScreen(session)
    else:
        yield _StatusLines(session)


class _StatusScreen:
    """A terminal that is redrawn. (Rich's `Live` would insert its display into everything that is captured here.)"""

    def __init__(self, session: CommandSession) -> None:
        self._session = session
        self._remark: str | None = None

    def show(self, seen: StatusView) -> None:
        output = self._session.output
        with output.console.capture() as captured:
            status_text.print_agent_statuses(self._session, seen)
            for problem in status_text.list_problems(seen):
                output.line(f"warning: {problem}", style="yellow")
            if self._remark:
                output.line(self._remark, style="dim")
            output.line("Press Ctrl-C to stop.", style="dim")
        page = Text.from_ansi(captured.get(), no_wrap=False, overflow="fold")
        output.console.control(Control.home())
        output.console.print(Screen(page), end="")

    def say(self, remark: str | None) -> None:
        self._remark = self._remark if remark is None else remark


class _StatusLines:
    """A file or a pipe: one line for every agent whose status changed."""

    def __init__(self, session: CommandSession) -> None:
        self._session = session
        self._before: dict[str, AgentStatus] = {}
        self._problems: list[str] = []

    def show(self, seen: StatusView) -> None:
        for one in seen.status.agents:
            if self._before.get(one.id) != one:
                self._print(self._line(one))
        for problem in status_text.list_problems(seen):
            if problem not in self._problems:
                self._session.output.warn(problem)
        self._before = {one.id: one for one in seen.status.agents}
        self._problems = status_text.list_problems(seen)

    def say(self, remark: str | None) -> None:
        if remark:
            self._session.output.note(remark)

    def _print(self, text: str) -> None:
        self._session.output.verbatim(f"{time_text(self._session.context.now())} {text}")
        self._session.output.console.file.flush()

    def _line(self, one: AgentStatus) -> str:
        reason = f": {one.reasons[0]}" if one.reasons else ""
        if not one.vault_opened:
            return f"{one.name}: {FOR_PEOPLE.get(one.state, one.state)}{reason}"
        verified = "never verified"
        if one.last_verified_at is not None:
            verified = f"last verified {status_text.describe_age(self._session, one.last_verified_at)}"
        sequence = "nothing captured" if one.sequence is None else f"sequence {one.sequence}"
        return f"{one.name}: {FOR_PEOPLE.get(one.state, one.state)}, {verified}, {sequence}{reason}"
