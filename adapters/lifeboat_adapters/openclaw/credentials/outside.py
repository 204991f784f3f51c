"""Files of a state folder that are kept elsewhere: what a link leads to, what the configuration includes from other
folders, and a configuration that lies in one. None of it is captured; its secrets are known all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credentials import Secret, UnparsableSecrets
from lifeboat_adapters.openclaw import includes, paths
from lifeboat_adapters.openclaw.credentials import secrets
from lifeboat_adapters.small_files import read_small


def files(installation: Installation, whole: includes.Whole) -> dict[Path, str]:
    """The files, each with the name that it goes by in the state folder."""
    folder = installation.state_dir
    if folder is None:
        return {}
    base = folder.resolve()
    parts = {part.file: paths.CONFIG for part in whole.parts if not part.file.is_relative_to(base)}
    profiles = f"agents/{installation.native_id}/agent/auth-profiles.json"
    names = {folder / name: name for name in (".env", paths.SECRETS, profiles)}
    names[installation.config or folder / paths.CONFIG] = paths.CONFIG
    return parts | {file: name for file, name in names.items() if file.is_file() and file.resolve() != base / name}


def learned(found: dict[Path, str]) -> Iterator[Secret]:
    """The secrets in all of them."""
    for file, name in found.items():
        try:
            yield from secrets.find(f"{paths.HOME}{name}", read_small(file)) or ()
        except (OSError, UnparsableSecrets):
            continue
