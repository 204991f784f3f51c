"""Find files of a state directory that are stored elsewhere: targets of links, files that the configuration includes
from other folders, and a configuration in another folder.

None of them is captured. Their secrets are cut elsewhere all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.openclaw import config_includes, openclaw_paths
from lifeboat_adapters.openclaw.credentials import openclaw_secrets
from lifeboat_adapters.small_files import read_small


def find_external_files(installation: Installation, whole: config_includes.ResolvedConfig) -> dict[Path, str]:
    """Return the files, each with its name in the state directory."""
    folder = installation.state_dir
    if folder is None:
        return {}
    base = folder.resolve()
    parts = {part.file: openclaw_paths.CONFIG for part in whole.parts if not part.file.is_relative_to(base)}
    profiles = f"agents/{installation.native_id}/agent/auth-profiles.json"
    names = {folder / name: name for name in (".env", openclaw_paths.SECRETS, profiles)}
    names[installation.config or folder / openclaw_paths.CONFIG] = openclaw_paths.CONFIG
    return parts | {file: name for file, name in names.items() if file.is_file() and file.resolve() != base / name}


def secrets_in_external_files(found: dict[Path, str]) -> Iterator[FileSecret]:
    """Yield the secrets in all of these files."""
    for file, name in found.items():
        try:
            yield from openclaw_secrets.find_openclaw_secrets(f"{openclaw_paths.HOME}{name}", read_small(file)) or ()
        except (OSError, UnparsableSecrets):
            continue
