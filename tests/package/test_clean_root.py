"""The Debian package in a system that has nothing: installed, used, upgraded, removed; without a network, by apt."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from facts import version
from support.adapters import openclaw_workspaces
from support.package.clean_root import Root
from support.waiting import until

from .conftest import PREVIOUS, Built

_WORKSPACE = ".openclaw/workspace"


def _json(root: Root, command: str) -> Any:
    return json.loads(root.user(f"lifeboat {command} --json").stdout)


def _protect(root: Root) -> None:
    workspace = root.home / _WORKSPACE
    openclaw_workspaces.make_workspace(workspace)
    root.give_to_user(root.home / ".openclaw")
    root.user(f"lifeboat agents add --runtime openclaw --name Juniper {_WORKSPACE}")


def _head(root: Root) -> int:
    sequence: int = _json(root, "status")["agents"][0]["sequence"]
    return sequence


def _note(root: Root, text: str) -> None:
    root.user(f"echo '{text}' >> {_WORKSPACE}/MEMORY.md")


def _changed_and_captured(root: Root, text: str) -> None:
    """A change made by the user is captured by the daemon, unasked."""
    before = _head(root)
    _note(root, text)
    until(lambda: _head(root) > before, f"the capture of {text}", seconds=180)


def _daemon(root: Root) -> Any:
    return _json(root, "status")["daemon"]


def _fingerprint(folder: Path) -> dict[str, str]:
    """Everything that lies in a folder: {path: digest, or what it is}."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in folder.rglob("*")
        if not path.is_socket()
    }


def _times(folder: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def test_what_was_installed_works_for_an_ordinary_user(root: Root, current: Built) -> None:
    root.install(current.debian)
    installed = _times(root.folder / "usr/lib/agent-lifeboat")
    number = version(current.tree)
    assert root.user("lifeboat --version").stdout.splitlines()[0].split()[-1] == number
    assert "byte" in root.user("lifeboat demo").stdout
    _protect(root)
    root.user("lifeboat daemon start")
    try:
        told = _daemon(root)
        assert told["running"] and told["version"] == number
        _changed_and_captured(root, "- The theodolite is at the calibration lab until Thursday.")
        assert [entry["sequence"] for entry in _json(root, "timeline Juniper")["entries"]]
        assert _json(root, "verify Juniper")["mismatches"] == []
    finally:
        root.user("lifeboat daemon stop")
    assert not _daemon(root)["running"]
    assert _times(root.folder / "usr/lib/agent-lifeboat") == installed


def test_the_manual_page_and_the_completions_are_in_order(root: Root, current: Built) -> None:
    root.install(current.debian, "mandoc", "zsh", "fish")
    manual = "/usr/share/man/man1/lifeboat.1.gz"
    root.run("mandoc", "-T", "lint", "-W", "warning", manual)
    shown = root.run("mandoc", "-T", "ascii", manual).stdout
    assert "lifeboat agents add" in shown.replace("\b", "") or "agents add" in shown
    root.run("bash", "-n", "/usr/share/bash-completion/completions/lifeboat")
    root.run("zsh", "-n", "/usr/share/zsh/vendor-completions/_lifeboat")
    root.run("fish", "--no-execute", "/usr/share/fish/vendor_completions.d/lifeboat.fish")
    script = "source /usr/share/bash-completion/completions/lifeboat; COMP_WORDS=(lifeboat tim); COMP_CWORD=1"
    assert root.user(f"{script}; _lifeboat_completion lifeboat; echo ${{COMPREPLY[@]}}").stdout.split() == ["timeline"]
    assert "timeline" in root.user("fish -c 'complete --do-complete \"lifeboat tim\"'").stdout


def test_an_upgrade_keeps_everything_and_a_running_daemon_becomes_the_new_release(
    root: Root, previous: Built, current: Built
) -> None:
    root.install(previous.debian)
    _protect(root)
    root.user("lifeboat config set capture.quiet 1s")
    root.user("lifeboat daemon start")
    _changed_and_captured(root, "- Under the old release.")
    assert _daemon(root)["version"] == PREVIOUS
    settings = _json(root, "config list")["settings"]
    timeline = _json(root, "timeline Juniper")["entries"]
    key = _json(root, "status")["key"]
    root.install(current.debian)
    number = version(current.tree)
    assert root.user("lifeboat --version").stdout.splitlines()[0].split()[-1] == number
    _changed_and_captured(root, "- Under the new release.")
    until(lambda: _daemon(root)["version"] == number, "the daemon of the new release", seconds=180)
    assert _daemon(root)["running"]
    _changed_and_captured(root, "- By a daemon of the new release.")
    assert _json(root, "config list")["settings"] == settings
    assert _json(root, "status")["key"] == key
    kept = {entry["sequence"]: entry for entry in _json(root, "timeline Juniper")["entries"]}
    assert [kept[entry["sequence"]]["created_at"] for entry in timeline] == [e["created_at"] for e in timeline]
    assert _json(root, "verify Juniper")["mismatches"] == []
    root.user("lifeboat daemon stop")


def test_what_a_user_has_stays_when_the_package_goes(root: Root, current: Built) -> None:
    root.install(current.debian)
    _protect(root)
    before = _fingerprint(root.home)
    _goes(root, "remove")
    assert _fingerprint(root.home) == before
    root.install(current.debian)
    assert _json(root, "verify Juniper")["mismatches"] == []
    before = _fingerprint(root.home)
    _goes(root, "purge")
    assert _fingerprint(root.home) == before


def _goes(root: Root, how: str) -> None:
    root.run("apt-get", "-qq", "-y", how, "agent-lifeboat")
    listed = root.run("dpkg-query", "--list", "agent-lifeboat", check=False).stdout
    assert "ii  agent-lifeboat" not in listed
    for path in ("usr/lib/agent-lifeboat", "usr/bin/lifeboat", "usr/lib/systemd/user/lifeboat.service"):
        assert not (root.folder / path).is_symlink() and not (root.folder / path).exists(), path
