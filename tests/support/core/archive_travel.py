"""Exports and imports of archives for tests, each import on another machine of the same user."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run, run_accepting

Export = Callable[..., ArchiveFile]
ImportInto = Callable[..., Path]


def exporting_into(folder: Path) -> Export:
    """Return `export(workspace, "name.alf", *options)`: the archive, written by the program and read by zipfile."""

    def make(workspace: Path, name: str = "export.alf", *options: str, runtime: str = "openclaw") -> ArchiveFile:
        target = folder / name
        run("alf", "export", runtime, workspace, "-o", target, *options)
        return ArchiveFile(target)

    return make


def importing_below(folder: Path, patch: pytest.MonkeyPatch) -> ImportInto:
    """Return `import_into("name", archive)`: a workspace made from an archive on another machine of the same user.

    What runs afterwards runs on that machine too.
    """
    keys = Context.open().home.keys_folder
    Context.open().keys().ensure()

    def make(
        name: str,
        archive: Path | ArchiveFile,
        *options: str,
        runtime: str = "openclaw",
        place: str = "workspace",
        expect: int = 0,
    ) -> Path:
        machine = folder / name
        machine.mkdir()
        patch.setenv("LIFEBOAT_HOME", str(machine / "lifeboat"))
        home = Context.open().home
        shutil.copytree(keys, home.keys_folder, dirs_exist_ok=True)
        target = machine / place
        path = archive.path if isinstance(archive, ArchiveFile) else archive
        run_accepting("alf", "import", path, "--runtime", runtime, "--to", target, *options, expect=expect)
        return target

    return make
