"""watchdog's log: lost events are noticed, every warning reaches the daemon's log, none reaches standard error."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from lifeboat_daemon.watch.overflow_log import OverflowLog
from support.preloaded import inline, run

WATCHDOG = logging.getLogger("watchdog.observers")


@pytest.fixture
def lost() -> Iterator[list[int]]:
    found: list[int] = []
    listening = OverflowLog(lambda: found.append(1))
    yield found
    listening.remove()


def test_only_lines_about_lost_events_are_noticed(lost: list[int]) -> None:
    WATCHDOG.warning("the queue had an overflow")
    WATCHDOG.warning("a folder is gone")
    WATCHDOG.info("events were lost")
    assert len(lost) == 1


def test_a_warning_goes_on_to_the_log_of_the_daemon(lost: list[int]) -> None:
    """It uses a handler of its own, because `caplog` also receives records that loggers do not pass on."""
    heard: list[str] = []
    root, handler = logging.getLogger(), logging.Handler()
    handler.emit = lambda record: heard.append(record.name)  # type: ignore[method-assign]
    root.addHandler(handler)
    try:
        WATCHDOG.warning("a folder is gone")
    finally:
        root.removeHandler(handler)
    assert heard == ["watchdog.observers"]


def test_nothing_reaches_standard_error_with_and_after_the_listener() -> None:
    code = (
        "import logging; from lifeboat_daemon.watch.overflow_log import OverflowLog\n"
        "listening = OverflowLog(lambda: None)\n"
        "logging.getLogger('watchdog').warning('first'); listening.remove()\n"
        "logging.getLogger('watchdog').warning('second'); print('said')\n"
    )
    ended = run(inline(code), capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "said\n", "")
