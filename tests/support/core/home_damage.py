"""A home that has used everything, the ways in which a file or folder of it can be damaged, and what still works."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.cli.cli_client import run

NOBODY = 65534
SECRET = "sk-proj-abcdefghijklmnop1234567890ABCDEFGHijklmnop"
FILES = {
    "SOUL.md": "# Soul\n\nBe kind.\n",
    "MEMORY.md": "# Memory\n\n## Tea\n\nLikes green tea.\n\n## Wreck\n\nSank at Gull Rock.\n",
    "chart.txt": "depth 12\n" * 60_000,
    ".env": f"OPENAI_API_KEY={SECRET}\n",
}
Facts = dict[str, Any]


@dataclass(frozen=True)
class UsedHome:
    """Everything of one user below `folder`. `agent` is the id of the agent that is protected."""

    folder: Path
    agent: str = ""

    @property
    def home(self) -> Path:
        return self.folder / "lifeboat"

    @property
    def workspace(self) -> Path:
        return self.folder / "user" / ".openclaw" / "workspace"

    def surroundings(self) -> dict[str, str]:
        return {"HOME": str(self.folder / "user"), "LIFEBOAT_HOME": str(self.home)}

    def facts(self) -> Facts:
        """What the commands give when everything works."""
        back = self.folder / "back"
        shutil.rmtree(back, ignore_errors=True)
        status = outcome("status", "--check")
        run_or_none("restore", self.agent, "--to", str(back / "workspace"), "--with-credentials")
        config = run_or_none("config", "get", "artifacts.versions") or {}
        return {
            "status": status,
            "doctor": outcome("doctor"),
            "files": _tree(back / "workspace"),
            "agents": names(run_or_none("agents", "list"), "agents"),
            "remotes": names(run_or_none("remote", "list"), "remotes"),
            "machines": [one["id"] for one in (run_or_none("keys", "status") or {}).get("machines", [])],
            "setting": config.get("value"),
            "receipts": len((run_or_none("receipts", "list") or {}).get("receipts", [])),
        }


def run_or_none(*arguments: str) -> Any:
    """The answer of a command; None when it failed."""
    try:
        return run(*arguments)
    except AssertionError:
        return None


def outcome(*arguments: str) -> int:
    """The exit status of a command."""
    try:
        run(*arguments)
    except AssertionError:
        return 1
    return 0


def names(document: Any, field: str) -> list[str] | None:
    return None if document is None else sorted(str(one["name"]) for one in document[field])


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def make_used_home(folder: Path) -> UsedHome:
    """Build it with the environment already pointing to it: two agents of which one was removed, a credential, a large
    file, a remote, a setting, a purge, a restore in place."""
    made = UsedHome(folder)
    made.home.parent.mkdir(parents=True, exist_ok=True)
    _write(made.workspace)
    agent = run("agents", "add", made.workspace, "--name", "ada")["id"]
    other = folder / "other" / "workspace"
    _write(other)
    run("agents", "add", other, "--name", "bea", "--runtime", "openclaw")
    run("agents", "remove", "bea", "--yes")
    (folder / "stick").mkdir()
    run("remote", "add", "stick", (folder / "stick").as_uri())
    run("config", "set", "artifacts.versions", "7")
    run("purge", "ada", "--text", "Gull Rock", "--yes")
    (made.workspace / "SOUL.md").write_text("# Soul\n\nBe kind, and brief.\n")
    run("sync")
    run("restore", "ada", "--at", "0", "--path", "SOUL.md", "--yes")
    run("sync")
    run("verify", "ada")
    return UsedHome(folder, agent)


def _write(workspace: Path) -> None:
    workspace.mkdir(parents=True)
    for name, text in FILES.items():
        (workspace / name).write_text(text)


# Damage ---------------------------------------------------------------------------------------------------------------


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def empty(path: Path) -> None:
    if path.is_dir():
        for inner in list(path.iterdir()):
            remove(inner)
    else:
        path.write_bytes(b"")


def halve(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))


def lock_out(path: Path) -> None:
    path.chmod(0)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "lost": remove,
    "empty": empty,
    "half": halve,
    "one bit": flip,
    "unreadable": lock_out,
}


@contextlib.contextmanager
def not_root(folder: Path) -> Iterator[None]:
    """Work as a user for whom the rights of files count; `folder` is given to them."""
    if os.geteuid() != 0:
        yield
        return
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
