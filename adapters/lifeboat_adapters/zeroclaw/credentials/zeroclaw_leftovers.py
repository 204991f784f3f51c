"""What upgrades and backups leave behind with secrets in clear. None of it is captured: it is a copy of what is or was.
Its secrets are known all the same, and a person is told that it lies there."""

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
"""Files. Whoever lays down more does not do it by upgrading."""

_CONFIGS = ("config.toml.*", "config.toml-*", "config.*.toml", "config.bak")
_LOGINS = ("auth-profiles.json.*", "auth-*-pending.json")
_WHOLE = ("config*.toml", "config.toml.*", "auth-profiles.json*", ".env")
_ADVICE = "it may go as soon as `zeroclaw doctor` finds nothing wrong"


def zeroclaw_leftover_files(installation: Installation) -> list[Path]:
    """Files that are not captured and whose secrets are known."""
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
    """The secrets in all of them, and the key that opens the configuration's: its text is in no archive either."""
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
    """The files in which a secret stands in clear, or may stand because they do not parse."""
    for file in zeroclaw_leftover_files(installation):
        found = _secrets_in(file, installation)
        if found is None or any(not secret_encryption.is_encrypted_secret(secret.value) for secret in found):
            is_login = any(fnmatchcase(file.name, glob) for glob in _LOGINS)
            what = "a login that was not finished" if is_login else "a copy that ZeroClaw made before an upgrade"
            yield LeftoverSecretFile(file, what, made_again=False, advice=_ADVICE)


def _secrets_in(file: Path, installation: Installation) -> list[FileSecret] | None:
    """None where nobody can say."""
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
