"""Fixtures of every test: no test sees the real home of its user, and Hypothesis keeps no clock."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from support.patience import patience
from support.prepared_folders import PreparedFolders

if TYPE_CHECKING:
    from support.core.protected import Protected

pytest_plugins = ["support.parallel"]

settings.register_profile(
    "lifeboat",
    deadline=None,
    # The autouse fixture below is function-scoped on purpose: examples of one test may share its home.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("lifeboat")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without searching for garbage: what is collected stays, and each search goes through all of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give a test more time on a busy machine, so that a wait in it ends first and says what it waited for."""
    own = item.get_closest_marker("timeout")
    seconds = float(own.args[0] if own else item.config.getoption("timeout") or item.config.getini("timeout"))
    item.add_marker(pytest.mark.timeout(patience(seconds)), append=False)
    return (yield)


_PREFIXES = ("LIFEBOAT_", "OPENCLAW_", "ZEROCLAW_", "XDG_")
_KEPT = frozenset({"LIFEBOAT_REFERENCE", "LIFEBOAT_REAL_CACHE", "LIFEBOAT_TEST_PATIENCE", "LIFEBOAT_ORACLE_SEED"})

_ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]

_FOLDER_NUMBERS = itertools.count()


def _numbered_folder(factory: pytest.TempPathFactory, parent: str, name: str = "") -> Path:
    """Create an empty folder without listing its siblings, as `mktemp` does: 5 ms where 8,000 tests have run."""
    folder = factory.getbasetemp() / parent / f"{name}{next(_FOLDER_NUMBERS)}"
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder for one test. It replaces the fixture of pytest and is kept as long."""
    return _numbered_folder(tmp_path_factory, "t", re.sub(r"\W", "_", request.node.name)[:24])


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own for every test: HOME and LIFEBOAT_HOME are fresh folders, nothing else leaks in."""
    for name in list(os.environ):
        if name.startswith(_PREFIXES) and name not in _KEPT:
            monkeypatch.delenv(name)
    home = _numbered_folder(tmp_path_factory, "h")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LIFEBOAT_HOME", str(home / "lifeboat"))
    yield home


@pytest.fixture(autouse=True)
def signals_handled_as_before() -> Iterator[None]:
    """Fail a test that leaves a handler: children that later tests fork could not be ended by such a signal."""
    before = {number: signal.getsignal(number) for number in _ENDING_SIGNALS}
    yield
    left = {number: handler for number, handler in before.items() if signal.getsignal(number) != handler}
    for number, handler in left.items():
        signal.signal(number, handler)
    assert not left, f"handlers of signals were left: {left}"


@pytest.fixture(scope="session")
def prepared_folders(tmp_path_factory: pytest.TempPathFactory) -> PreparedFolders:
    """Folders that are built once in this process and restored for each test."""
    return PreparedFolders(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    """Return an agent that was just added, with its first sequence. A file whose tests need more defines its own."""
    from support.core.protected import protected_agent

    return prepared_folders.restore("agent just added", protected_agent)


@pytest.fixture
def light_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases are stretched as little as is accepted. Where a command is tested in a terminal, it is as much
    as for users."""
    from lifeboat_keys.stores import passphrase_wrapping

    monkeypatch.setattr(passphrase_wrapping, "OPERATIONS", passphrase_wrapping.MIN_OPERATIONS)
    monkeypatch.setattr(passphrase_wrapping, "MEMORY", passphrase_wrapping.MIN_MEMORY)


@pytest.fixture
def lightest_wrapping(light_wrapping: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretch passphrases with a 64th of the memory that a wrapped key names: 40 CPU ms less each time.

    Only the process of the test can open such a key.
    """
    from nacl.pwhash import argon2id

    stretch = argon2id.kdf

    def stretch_with_little_memory(size: int, password: bytes, salt: bytes, operations: int, memory: int) -> bytes:
        return stretch(size, password, salt, operations, memory // 64)

    monkeypatch.setattr(argon2id, "kdf", stretch_with_little_memory)
