"""What a shell sets must not change what the dashboard draws. Textual reads it when it is imported: a fixture would be
too late."""

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
    """Times of day are drawn in the user's own zone: here that of Greenwich."""
    with mock.patch.dict(os.environ, TZ="UTC"):
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
