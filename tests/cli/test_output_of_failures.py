"""What commands print while something is broken: sentences, and nothing of Python or of the system's numbers."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_cli import program
from support.core.protected import Protected
from support.failing_files import READS, WRITES

FORBIDDEN = re.compile(
    r"\[Errno|\bErrno\b|\bNone\b|Traceback|<class |<function | object at 0x|\bPosixPath\(|\bOSError\b|\bValueError\b"
    r"|\bKeyError\b|\bTypeError\b|\bAttributeError\b|An internal error|Internal error"
)
ID = "0198c0de-0000-7000-8000-000000000001"
COMMANDS = (
    "status",
    "status ada",
    "sync",
    "sync ada",
    "verify ada",
    "verify ada --whole",
    "timeline ada",
    "timeline ada --json",
    "timeline ada --since yesterday",
    "diff ada",
    "diff ada 0 99",
    "log",
    "log ada",
    "search ada tea",
    "search ada tea --history",
    "records list ada",
    f"records show ada {ID}",
    f"records forget ada {ID}",
    "label ada 0 first",
    "label ada 99 first",
    "restore ada --dry-run",
    "restore ada --to {folder}/file",
    "restore ada --at 99 --to {folder}/elsewhere",
    "undo",
    "undo ada",
    "purge ada --containing tea --dry-run",
    "receipts list",
    f"receipts show {ID}",
    "receipts verify {folder}/missing",
    "agents",
    "agents list",
    "agents show ada",
    "agents add {folder}/missing",
    "agents add {folder}/file",
    "agents remove bea --yes",
    "agents discover",
    "keys status",
    "keys export-kit {folder}/file/kit.txt",
    "remote list",
    "remote add nas {folder}/file",
    "remote add nas {folder}/missing/folder",
    "remote test nas",
    "config list",
    "config get capture.quiet",
    "config set capture.quiet nonsense",
    "daemon status",
    "daemon log",
    "doctor",
    "alf export ada {folder}/file/ada.alf",
    "alf show {folder}/missing.alf",
    "alf check {folder}/file",
    "alf import {folder}/file --yes",
    "alf convert {folder}/file {folder}/out.alf",
    "endpoint tenant list --data {folder}/missing",
    "endpoint doctor --data {folder}/file",
)


def _vault(ada: Protected) -> Path:
    return ada.context.home.vault_folder(ada.agent.id)


def _nothing(ada: Protected, _: pytest.MonkeyPatch) -> None:
    """The commands themselves are wrong, or there is nothing to show."""


def _lose_vault(ada: Protected, _: pytest.MonkeyPatch) -> None:
    (_vault(ada) / "vault.db").unlink()


def _scramble_vault(ada: Protected, _: pytest.MonkeyPatch) -> None:
    (_vault(ada) / "vault.db").write_bytes(b"x" * 8192)


def _damage_vault(ada: Protected, _: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(_vault(ada) / "vault.db") as db:
        names = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
        for name in names:
            if not name.startswith("sqlite_"):
                db.execute(f"drop table if exists {name}")


def _lose_workspace(ada: Protected, _: pytest.MonkeyPatch) -> None:
    ada.workspace.rename(ada.folder / "away")


def _block_workspace(ada: Protected, _: pytest.MonkeyPatch) -> None:
    ada.workspace.rename(ada.folder / "away")
    ada.workspace.write_text("a file")


def _lose_key(ada: Protected, _: pytest.MonkeyPatch) -> None:
    (ada.context.home.keys_folder / "user.key").unlink()


def _scramble_settings(ada: Protected, _: pytest.MonkeyPatch) -> None:
    (ada.context.home.folder / "config.toml").write_text("= broken [")


def _scramble_home(ada: Protected, _: pytest.MonkeyPatch) -> None:
    for file in ada.context.home.state_folder.glob("*"):
        if file.is_file():
            file.write_bytes(b"{ broken \x00\xff")


def _block_home(ada: Protected, patch: pytest.MonkeyPatch) -> None:
    (ada.folder / "block").write_text("a file")
    patch.setenv("LIFEBOAT_HOME", str(ada.folder / "block"))


def _no_home(ada: Protected, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("LIFEBOAT_HOME", str(ada.folder / "block" / "home"))
    (ada.folder / "block").write_text("a file")


def _refusing(names: frozenset[str], reason: int) -> Callable[[Protected, pytest.MonkeyPatch], None]:
    def refuse(ada: Protected, patch: pytest.MonkeyPatch) -> None:
        for name in names:
            patch.setattr(SystemFiles, name, _refuse)

    def _refuse(_: SystemFiles, path: Any, *__: Any, **___: Any) -> Any:
        raise OSError(reason, os.strerror(reason), os.fspath(path))

    return refuse


BREAKAGES: dict[str, Callable[[Protected, pytest.MonkeyPatch], None]] = {
    "nothing": _nothing,
    "no vault": _lose_vault,
    "a scrambled vault": _scramble_vault,
    "an empty vault": _damage_vault,
    "no workspace": _lose_workspace,
    "a file as workspace": _block_workspace,
    "no key": _lose_key,
    "unreadable settings": _scramble_settings,
    "unreadable state": _scramble_home,
    "a file as home": _block_home,
    "a home below a file": _no_home,
    "a full disk": _refusing(WRITES, errno.ENOSPC),
    "a read-only disk": _refusing(WRITES, errno.EROFS),
    "no permission to read": _refusing(READS, errno.EACCES),
    "a failing disk": _refusing(READS, errno.EIO),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_no_output_shows_a_number_of_the_system_or_a_value_of_python(
    breakage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ada = Protected(tmp_path)
    ada.clock.moment = datetime.now(UTC)  # Commands use the clock of the system.
    ada.add(name="ada")
    (tmp_path / "file").write_text("no archive")
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    found = []
    with monkeypatch.context() as patch:
        BREAKAGES[breakage](ada, patch)
        for command in COMMANDS:
            arguments = [word.replace("{folder}", str(tmp_path)) for word in command.split()]
            status = program.run_command(arguments)
            said = capsys.readouterr()
            if not (said.out or said.err):
                found.append(f"lifeboat {command}: {status}, without a word")
            shown = said.out if "--json" in arguments else said.out + said.err
            found += [f"lifeboat {command}: {line}" for line in shown.splitlines() if FORBIDDEN.search(line)]
    assert not found, "\n".join(found)
