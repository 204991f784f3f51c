"""Keyring, home and passphrase are gone. What is left is an archive, and 24 words on paper."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli.cli_client import run, run_accepting
from support.keys.secret_service import SecretService, secret_service

__all__ = ["secret_service"]

pytestmark = pytest.mark.usefixtures("lightest_wrapping")
KEY = "sk-fake-0123456789abcdefghijklmnopqrstuvwxyz"
TOKEN = "0123456789abcdef0123456789abcdef0123456789abcdef"
CONFIG = f'{{\n  // by hand\n  models: {{ providers: {{ orchard: {{ apiKey: "{TOKEN}" }} }} }},\n}}\n'
FILES = {
    "openclaw.json": CONFIG,
    ".env": f"# provider keys\nOPENAI_API_KEY={KEY}\nEDITOR=nano\n",
    "workspace/SOUL.md": "# Soul\n\nYou are Ada. Be kind.\n",
    "workspace/MEMORY.md": "# Memory\n\n## Boat\n\nThe red boat lies in the harbour.\n",
    "workspace/.env": f'export TOOL_TOKEN="{TOKEN[::-1]}"\n',
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A user on one machine: the commands of the test are given there."""

    home: Path

    @property
    def state_dir(self) -> Path:
        return self.home / ".openclaw"

    @property
    def workspace(self) -> Path:
        return self.state_dir / "workspace"

    def files(self) -> dict[str, str]:
        """Those of FILES that are there, as they are there."""
        return {name: (self.state_dir / name).read_text() for name in FILES if (self.state_dir / name).exists()}


@dataclass(frozen=True, slots=True)
class Drawer:
    """What is left: an archive, the words, the kit."""

    archive: Path
    words: Path
    kit: Path
    key_id: str


def _machine(folder: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> Machine:
    folder.mkdir(mode=0o700)
    for name, value in {**environment, "HOME": str(folder), "LIFEBOAT_HOME": str(folder / "lifeboat")}.items():
        monkeypatch.setenv(name, value)
    return Machine(folder)


def _live(machine: Machine) -> None:
    for name, text in FILES.items():
        file = machine.state_dir / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)


def _protected(machine: Machine, folder: Path, store: str) -> Drawer:
    """The agent is captured, exported, and its key is put on paper."""
    folder.mkdir()
    made = run("keys", "init", "--store", store, "--words-to", folder / "words")
    assert made["store"] == store
    run("agents", "add", machine.workspace, "--name", "ada")
    run("alf", "export", "openclaw", machine.workspace, "-o", folder / "ada.alf")
    run("keys", "export-kit", "-o", folder / "kit")
    return Drawer(folder / "ada.alf", folder / "words", folder / "kit", made["key_id"])


def _destroyed(machine: Machine) -> None:
    shutil.rmtree(machine.home)


@pytest.fixture
def of_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drawer:
    """What is left of a machine whose key was wrapped with a passphrase."""
    secret = tmp_path / "passphrase"
    secret.touch(0o600)
    secret.write_text("a boat under the bridge\n")
    old = _machine(tmp_path / "old", monkeypatch, LIFEBOAT_PASSPHRASE_FILE=str(secret))
    _live(old)
    drawer = _protected(old, tmp_path / "drawer", "passphrase")
    _destroyed(old)
    secret.unlink()
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE_FILE")
    return drawer


@pytest.fixture
def of_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret_service: SecretService) -> Drawer:
    """What is left of a machine whose key lay in the keyring of a desktop."""
    around = {name: value for name, value in secret_service.environment.items() if name not in ("HOME", "PATH")}
    old = _machine(tmp_path / "old", monkeypatch, **around)
    _live(old)
    drawer = _protected(old, tmp_path / "drawer", "keyring")
    _destroyed(old)
    secret_service.stop()
    shutil.rmtree(secret_service.home)
    for name in around:
        monkeypatch.delenv(name)
    return drawer


def _comes_back(drawer: Drawer, source: tuple[str | Path, ...], machine: Machine) -> None:
    assert run("keys", "recover", *source)["key_id"] == drawer.key_id
    target = ("--to", machine.workspace, "--state-dir", machine.state_dir)
    run("alf", "import", drawer.archive, *target, "--with-credentials")
    assert machine.files() == FILES
    for name in ("openclaw.json", ".env", "workspace/.env"):
        assert (machine.state_dir / name).stat().st_mode & 0o077 == 0, f"others can read {name}"


SOURCES: dict[str, Callable[[Drawer], tuple[str | Path, ...]]] = {
    "words": lambda drawer: ("--words-from", drawer.words),
    "kit": lambda drawer: ("--kit", drawer.kit),
}


@pytest.mark.parametrize("source", SOURCES)
def test_words_bring_the_agent_back_whose_key_was_behind_a_passphrase(
    source: str, of_passphrase: Drawer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = _machine(tmp_path / "new", monkeypatch)
    _comes_back(of_passphrase, SOURCES[source](of_passphrase), new)


@pytest.mark.parametrize("source", SOURCES)
def test_words_bring_the_agent_back_whose_key_was_in_a_keyring(
    source: str, of_keyring: Drawer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = _machine(tmp_path / "new", monkeypatch)
    _comes_back(of_keyring, SOURCES[source](of_keyring), new)


def test_without_the_words_nothing_opens(
    of_passphrase: Drawer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = _machine(tmp_path / "new", monkeypatch)
    run("keys", "init", "--words-to", tmp_path / "others")
    source = ("alf", "import", of_passphrase.archive, "--to", new.workspace)
    error = run(*source, "--with-credentials", expect=3)["error"]
    assert of_passphrase.key_id in error["message"] and not new.workspace.exists()
    run_accepting(*source, expect=1)  # its credentials are left out
    written = "".join(new.files().values())
    assert "You are Ada" in written
    assert not any(secret in written for secret in (KEY, TOKEN, TOKEN[::-1]))
