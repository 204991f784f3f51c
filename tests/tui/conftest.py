"""Environment of the dashboard tests. Variables of the shell must not change what the dashboard draws. They are removed
here, on import, because Textual reads them when it is imported; a fixture would be too late."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from unittest import mock

import pytest

for _name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM", "TEXTUAL_ANIMATIONS", "COLORTERM"):
    os.environ.pop(_name, None)


@pytest.fixture(autouse=True)
def universal_time() -> Iterator[None]:
    """Set the time zone to UTC, because the dashboard shows times in the user's zone."""
    with mock.patch.dict(os.environ, TZ="UTC"):
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(autouse=True)
def lasting_notifications(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep notifications until the end of the test: a busy machine may take longer than they stay by default."""
    from textual.app import App

    monkeypatch.setattr(App, "NOTIFICATION_TIMEOUT", 3600.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
