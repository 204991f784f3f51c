"""Find files with secrets in plain text that migrations, generators and automatic copies leave behind.

None of them is captured: they are copies of present or former files, or generated. Their secrets are cut elsewhere all
the same, and the user is told about the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from lifeboat_adapters.credential_types import FileSecret, LeftoverSecretFile, UnparsableSecrets
from lifeboat_adapters.openclaw.credentials import openclaw_secrets
from lifeboat_adapters.secrets import secret_finder, secret_names
from lifeboat_adapters.small_files import entries_of, read_small

GENERATED = ("models.json",)
"""Names in an agent's folder that OpenClaw writes again whenever it needs them."""

_IN_AGENT = (*GENERATED, "auth-profiles.json.*", "auth.json", "auth.json.*", "*.imported-*")
_BACKUPS = "openclaw.json.bak*"
_IN_STATE = {"": (_BACKUPS, "secrets.json.*", "*.imported-*"), "cron": ("jobs.json.migrated*",)}
_MARKER = re.compile(r"[a-z]+(?:[-:][a-z]+)*")
_CODEX = "codex-home"
MOST = 500
"""The number of files that are searched. No migration leaves more behind."""


def openclaw_leftover_files(state_dir: Path) -> list[Path]:
    """Return the files that are not captured and whose secrets are cut elsewhere."""
    found = [file for folder, patterns in _IN_STATE.items() for file in _named(state_dir / folder, patterns)]
    for agent in _folders(state_dir / "agents"):
        found += _named(agent / "agent", _IN_AGENT)
        found += _named(agent / "agent" / _CODEX, ("auth.json",))
        found += _named(agent / "session-sqlite-import-archive", ("sessions.json.imported-*",))
    return found[:MOST]


def secrets_in_openclaw_leftovers(state_dir: Path) -> Iterator[FileSecret]:
    """Yield the secrets in all of these files."""
    for file in openclaw_leftover_files(state_dir):
        yield from _secrets_in(file, state_dir) or ()


def find_openclaw_leftovers(state_dir: Path) -> Iterator[LeftoverSecretFile]:
    """Yield the files that contain a secret, or may contain one because they do not parse."""
    for file in openclaw_leftover_files(state_dir):
        found = _secrets_in(file, state_dir)
        if found is None or found:
            yield _leftover(file)


def _leftover(file: Path) -> LeftoverSecretFile:
    if file.name in GENERATED:
        return LeftoverSecretFile(file, "OpenClaw writes this file from its configuration", made_again=True)
    if file.parent.name == _CODEX:
        return LeftoverSecretFile(
            file, "this file is the Codex login, which Lifeboat does not capture", made_again=True
        )
    if fnmatchcase(file.name, _BACKUPS):
        return LeftoverSecretFile(
            file, "OpenClaw wrote this backup before it changed its configuration", made_again=True
        )
    advice = "delete it once `openclaw models auth list` shows its contents"
    return LeftoverSecretFile(file, "an OpenClaw migration left this file behind", made_again=False, advice=advice)


def _secrets_in(file: Path, state_dir: Path) -> list[FileSecret] | None:
    """Return the secrets in a file, None when the file does not parse."""
    try:
        found = secret_finder.secrets_in_json5(read_small(file, state_dir), openclaw_secrets.service_of_setting)
    except FileNotFoundError:
        return []
    except (OSError, UnparsableSecrets):
        return None
    return [secret for secret in found if file.name not in GENERATED or not _says_where(secret.value)]


def _says_where(value: str) -> bool:
    """Return whether a value in a generated catalog only names a variable, or is a word like `secretref-managed`."""
    return secret_names.is_variable_name(value) or _MARKER.fullmatch(value) is not None


def _named(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return [Path(one.path) for one in entries_of(folder) if any(fnmatchcase(one.name, pattern) for pattern in patterns)]


def _folders(folder: Path) -> list[Path]:
    return [Path(one.path) for one in entries_of(folder) if one.is_dir(follow_symlinks=False)]
