"""Find files with secrets in plain text that upgrades and backups leave behind.

None of them is captured: they are copies of present or former files. Their secrets are cut elsewhere all the same, and
the user is told about the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import FileSecret, LeftoverSecretFile, UnparsableSecrets
from lifeboat_adapters.small_files import entries_of, read_small
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption, zeroclaw_secrets

MOST = 500
"""The number of files that are searched. No upgrade leaves more behind."""

_CONFIGS = ("config.toml.*", "config.toml-*", "config.*.toml", "config.bak")
_LOGINS = ("auth-profiles.json.*", "auth-*-pending.json")
_WHOLE = ("config*.toml", "config.toml.*", "auth-profiles.json*", ".env")
_ADVICE = "delete it once `zeroclaw doctor` finds no problem"


def zeroclaw_leftover_files(installation: Installation) -> list[Path]:
    """Return the files that are not captured and whose secrets are cut elsewhere."""
    home = installation.state_dir
    if home is None:
        return []
    found = _named(home, (*_CONFIGS, *_LOGINS))
    for folder in (*_folders(home, "backup-*"), *_folders(installation.workspace / "backups", "backup-*")):
        found += _named(folder, _WHOLE)
        for inner in _folders(folder, "*"):
            found += _named(inner, _WHOLE)
    return found[:MOST]


def secrets_in_zeroclaw_leftovers(installation: Installation) -> Iterator[FileSecret]:
    """Yield the secrets in all of these files, and the key that decrypts the configuration. The key must not be in an
    archive either."""
    for file in zeroclaw_leftover_files(installation):
        yield from zeroclaw_secrets.decrypt_found_secrets(installation, _secrets_in(file, installation) or [])
    if installation.state_dir is None:
        return
    try:
        data = secret_encryption.read_key_file(installation.state_dir)
        if data is not None:
            secret_encryption.parse_key_file(data)
            yield FileSecret(
                0, 0, data.decode().strip(), zeroclaw_paths.RUNTIME, "custom", zeroclaw_paths.SECRET_KEY, bound=True
            )
    except secret_encryption.BadSecretKey:
        return


def find_zeroclaw_leftovers(installation: Installation) -> Iterator[LeftoverSecretFile]:
    """Yield the files that contain a secret in plain text, or may contain one because they do not parse."""
    for file in zeroclaw_leftover_files(installation):
        found = _secrets_in(file, installation)
        if found is None or any(not secret_encryption.is_encrypted_secret(secret.value) for secret in found):
            is_login = any(fnmatchcase(file.name, glob) for glob in _LOGINS)
            what = (
                "this file belongs to a login that was not finished"
                if is_login
                else "ZeroClaw made this copy before an upgrade"
            )
            yield LeftoverSecretFile(file, what, made_again=False, advice=_ADVICE)


def _secrets_in(file: Path, installation: Installation) -> list[FileSecret] | None:
    """Return the secrets in a file, None when the file does not parse."""
    name = file.name
    if fnmatchcase(name, "auth-*"):
        name = zeroclaw_paths.AUTH_PROFILES
    elif name != ".env":
        name = zeroclaw_paths.CONFIG
    try:
        return (
            zeroclaw_secrets.find_zeroclaw_secrets(
                f"{zeroclaw_paths.HOME}{name}", read_small(file, installation.grounds)
            )
            or []
        )
    except FileNotFoundError:
        return []
    except (OSError, UnparsableSecrets):
        return None


def _named(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    entries = (entry for entry in entries_of(folder) if not entry.is_dir(follow_symlinks=False))
    return [Path(entry.path) for entry in entries if any(fnmatchcase(entry.name, glob) for glob in patterns)]


def _folders(folder: Path, pattern: str) -> list[Path]:
    entries = (entry for entry in entries_of(folder) if entry.is_dir(follow_symlinks=False))
    return [Path(entry.path) for entry in entries if fnmatchcase(entry.name, pattern)]
