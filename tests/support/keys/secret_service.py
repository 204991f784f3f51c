"""A real Secret Service for one test: a bus and a gnome-keyring in a private home and runtime folder.

Import the fixture where it is needed. Each has its own bus, so that tests run in parallel.
"""

from __future__ import annotations

import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lifeboat_keys import child_processes
from lifeboat_keys.stores import keyring_process, keyring_store
from support.patience import patience
from support.waiting import until

PROGRAMS = ("dbus-daemon", "gnome-keyring-daemon", "dbus-send")
PASSWORD = "of the keyring"


class SecretService:
    """A running Secret Service; `environment` leads to it. It can be locked, die, and restart with what it stored."""

    def __init__(self, folder: Path) -> None:
        self.home, self.runtime = folder / "home", folder / "run"
        for each in (self.home, self.runtime):
            each.mkdir(mode=0o700)
        self.address = f"unix:path={self.runtime / 'bus'}"
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """Return an environment without a display, so that no prompt can appear."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "DBUS_SESSION_BUS_ADDRESS": self.address,
        }

    def start(self, password: str = PASSWORD) -> None:
        """Start the bus and the unlocked keyring; return when they are usable."""
        self._run(["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.address}"])
        self._wait(lambda: (self.runtime / "bus").exists(), "the bus")
        keyring = self._run(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], stdin=subprocess.PIPE
        )
        assert keyring.stdin is not None
        keyring.stdin.write(password.encode())
        keyring.stdin.close()
        self._wait(self._is_owned, "gnome-keyring")

    def stop(self) -> None:
        """Kill bus and keyring; stored items stay on disk."""
        for process in reversed(self._processes):
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
        self._processes.clear()
        (self.runtime / "bus").unlink(missing_ok=True)

    def lock(self) -> None:
        collection = "array:objpath:/org/freedesktop/secrets/collection/login"
        self._call(
            "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", collection
        )

    def _is_owned(self) -> bool:
        name = "string:org.freedesktop.secrets"
        bus = ("org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner")
        return "boolean true" in self._call(*bus, name)

    def _call(self, destination: str, path: str, method: str, *arguments: str) -> str:
        command = ["dbus-send", "--session", "--print-reply", f"--dest={destination}", path, method, *arguments]
        ended = subprocess.run(command, env=self.environment, capture_output=True, timeout=patience(), check=False)
        return ended.stdout.decode()

    def _run(self, command: list[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, env=self.environment, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._processes.append(process)
        return process

    def _wait(self, is_up: Callable[[], bool], what: str) -> None:
        until(is_up, f"{what} to come up")


@pytest.fixture
def secret_service() -> Iterator[SecretService]:
    """Yield a running, unlocked service. Skips where its programs are missing."""
    with _service() as service:
        service.start()
        yield service


@pytest.fixture
def secret_service_to_come() -> Iterator[SecretService]:
    """Yield a service that is not started yet."""
    with _service() as service:
        yield service


@contextmanager
def _service() -> Iterator[SecretService]:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"a Secret Service needs {', '.join(missing)} (apt-get install gnome-keyring dbus-daemon)")
    # Not pytest's folder: the path of a socket has a limit.
    with tempfile.TemporaryDirectory(prefix="bus-", ignore_cleanup_errors=True) as folder:
        service = SecretService(Path(folder))
        try:
            yield service
        finally:
            service.stop()


@pytest.fixture
def forked_keyring_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer each keyring request in a fork of this process instead of a new interpreter.

    A new one imports the keyring library each time, which takes 0.15 CPU seconds.
    """
    for place, _, _ in keyring_process._KNOWN:
        with suppress(Exception):  # the backend of another system
            importlib.import_module(place.rpartition(".")[0])
    monkeypatch.setattr(child_processes, "run_child", _run_forked)


def _run_forked(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    seconds: float,
    input: bytes = b"",
    folder: str | None = None,
) -> child_processes.ChildResult:
    assert command == keyring_store.PROGRAM, "only the process of the keyring can be forked"
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            signal.alarm(int(patience()))
            os.environ.clear()
            os.environ.update(environment)
            sys.stdin, sys.stdout = io.StringIO(input.decode()), os.fdopen(writing, "w")
            keyring_process.main()
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as answers:
        output = answers.read()
    return child_processes.ChildResult(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output)
