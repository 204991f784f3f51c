"""The remotes of this home: `remotes/<name>.toml`, what the user decided, and beside it what only its owner may
read: `<name>.token` (a bearer token) and `<name>.ca.pem` (the authority that its pin names).

Light: the daemon reads this. Nothing here contacts a remote.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.errors import ConfigError, SecondCopyError
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import names_in
from lifeboat_core.remotes import stored_credentials
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.settings import config_file

LONGEST_TOKEN = 4096
"""Characters."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# `local` is the copy on this disk in every status; the other names are devices of Windows.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|local)(\..*)?", re.IGNORECASE)
_PIN = re.compile(r"[0-9a-f]{64}")
_TOML, _TOKEN, _AUTHORITY = ".toml", ".token", ".ca.pem"


# Names ----------------------------------------------------------------------------------------------------------


def check_remote_name(name: str) -> str:
    """Return the name if it can name files on any system. Raises SecondCopyError.REMOTE_NAME_REFUSED."""
    if not _NAME.fullmatch(name) or name.endswith((".", _TOKEN, _AUTHORITY)) or _RESERVED.fullmatch(name):
        raise SecondCopyError.REMOTE_NAME_REFUSED(
            f"{name!r} is not allowed: use letters, digits, dots, dashes and underscores"
        )
    return name


def refuse_taken_name(context: Context, name: str) -> None:
    """Raises SecondCopyError.REMOTE_NAME_REFUSED, SecondCopyError.REMOTE_EXISTS (also for a name that differs in case
    alone)."""
    check_remote_name(name)
    for known in list_remote_names(context):
        if known.casefold() == name.casefold():
            raise SecondCopyError.REMOTE_EXISTS(
                f"a remote already has the name {known!r}", fix=f"lifeboat remote show {known}"
            )


def list_remote_names(context: Context) -> list[str]:
    """Return the names of all remotes, sorted, also of those whose file is lost and has a copy. Raises OSError."""
    found = _names_in(context, context.home.remotes_folder) | _names_in(context, _copies(context))
    return sorted(found, key=lambda name: (name.casefold(), name))


def _names_in(context: Context, folder: Path) -> set[str]:
    found = (name.removesuffix(_TOML) for name in names_in(context.files, folder) if name.endswith(_TOML))
    return {name for name in found if _NAME.fullmatch(name)}


# Reading --------------------------------------------------------------------------------------------------------


def list_remotes(context: Context) -> list[RemoteConfig]:
    """Return all remotes, by name; one whose file cannot be used has a `problem`. Raises OSError."""
    return [_read(context, name) for name in list_remote_names(context)]


def list_usable_remotes(context: Context) -> list[RemoteConfig]:
    """Return the remotes whose file can be used."""
    return [remote for remote in list_remotes(context) if remote.problem is None]


def find_remote(context: Context, name: str) -> RemoteConfig:
    """Return a remote by its name or its id. Raises SecondCopyError.UNKNOWN_REMOTE, ConfigError (its file cannot be
    used)."""
    remotes = list_remotes(context)
    for known in remotes:
        if name.casefold() == known.name.casefold() or (known.id and name == known.id):
            if known.problem is not None:
                raise ConfigError(known.problem, fix="lifeboat doctor")
            return known
    close = difflib.get_close_matches(name.casefold(), [known.name for known in remotes], n=1)
    hint = f". Did you mean {close[0]!r}?" if close else ""
    raise SecondCopyError.UNKNOWN_REMOTE(f"no remote has the name {name!r}{hint}")


def find_remote_by_id(context: Context, remote_id: str) -> RemoteConfig | None:
    """Return the remote with this id under any name."""
    return next((remote for remote in list_remotes(context) if remote.id == remote_id), None)


def load_token(context: Context, name: str) -> str | None:
    """Return the token or the credentials of a remote, None if it has none. Raises OSError, and RemoteError for
    credentials in the OS keyring that cannot be read."""
    found = load_stored_token(context, name)
    item = stored_credentials.find_item(found)
    return found if item is None else stored_credentials.read_item(context, name, item)


def load_stored_token(context: Context, name: str) -> str | None:
    """Return what the file of a token contains, which may be a reference (see `stored_credentials`); None if there is
    none. Raises OSError."""
    found = _text(context, locate_token_file(context, name))
    return found.strip() or None if found is not None else None


def load_authority(context: Context, name: str) -> str | None:
    """Return the certificate (PEM) that was fetched for the pin of a remote; the caller verifies it again."""
    return _text(context, _path(context, name, _AUTHORITY))


def locate_remote_file(context: Context, name: str) -> Path:
    return _path(context, name, _TOML)


def locate_token_file(context: Context, name: str) -> Path:
    return _path(context, name, _TOKEN)


def parse_remote(data: bytes, name: str) -> RemoteConfig:
    """Return a remote from the bytes of its file. Raises ConfigError, which quotes no value."""
    try:
        return _from_document(config_file.read_toml(data), name)
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"remotes/{name}{_TOML}: {_why(error)}", fix="lifeboat doctor") from None


def _why(error: Exception) -> str:
    return f"the key {error} is missing" if isinstance(error, KeyError) else str(error)


def _read(context: Context, name: str) -> RemoteConfig:
    try:
        return parse_remote(
            config_file.recall_file(context.files, locate_remote_file(context, name), _copy(context, name)), name
        )
    except ConfigError as error:
        return RemoteConfig(name, "", problem=error.message)
    except OSError as error:
        return RemoteConfig(name, "", problem=f"remotes/{name}{_TOML}: {error.strerror or 'the file is missing'}")


def _from_document(document: Mapping[str, Any], name: str) -> RemoteConfig:
    return RemoteConfig(
        name=name,
        url=_address(_word(document, "url")),
        id=_word(document, "id", ""),
        pin=_pin(_word(document, "pin", "")),
        optional=_switch(document, "optional"),
        sealed=_switch(document, "sealed"),
        added_at=_word(document, "added_at", ""),
        writers=_word(document, "writers", ""),
        keeps_versions=_switch(document, "keeps_versions"),
    )


def _address(url: str) -> str:
    parts = urlsplit(url)
    if not parts.scheme:
        raise ValueError("the value of `url` is not a URL")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the value of `url` must be an address only. Store a token with `lifeboat remote token NAME`")
    return url


def _pin(value: str) -> str:
    if value and not _PIN.fullmatch(value):
        raise ValueError("the value of `pin` is not a SHA-256 digest")
    return value


def _word(document: Mapping[str, Any], key: str, otherwise: str | None = None) -> str:
    value = document[key] if otherwise is None else document.get(key, otherwise)
    if not isinstance(value, str):
        raise TypeError(f"the value of `{key}` must be a string")
    return value


def _switch(document: Mapping[str, Any], key: str) -> bool:
    value = document.get(key, False)
    if not isinstance(value, bool):
        raise TypeError(f"the value of `{key}` must be true or false")
    return value


# Writing --------------------------------------------------------------------------------------------------------


def save_remote(context: Context, remote: RemoteConfig) -> RemoteConfig:
    """Write a remote's file; comments and unknown fields of the old file stay. Raises
    SecondCopyError.REMOTE_NAME_REFUSED."""
    import tomlkit
    import tomlkit.exceptions

    check_remote_name(remote.name)
    try:
        document = tomlkit.parse(_text(context, locate_remote_file(context, remote.name)) or "")
    except tomlkit.exceptions.TOMLKitError:
        document = tomlkit.document()
    for key, value in _to_document(remote).items():
        config_file.put_setting(document, key, value)
    _write(context, locate_remote_file(context, remote.name), tomlkit.dumps(document))
    config_file.remember_file(context.files, _copy(context, remote.name), tomlkit.dumps(document).encode())
    return _read(context, remote.name)


def save_token(context: Context, name: str, secret: str | None, *, is_protected: bool = False) -> None:
    """Keep a token, readable by its owner alone; None removes it. `is_protected`: it goes where the user's key is, as
    `stored_credentials` describes. Raises OSError."""
    path = locate_token_file(context, check_remote_name(name))
    former = stored_credentials.find_item(_text(context, path))
    stored = stored_credentials.store_secret(context, name, secret) if secret and is_protected else secret
    _write_or_remove(context, path, stored and f"{stored}\n")
    if former is not None:
        stored_credentials.remove_item(context, former)


def save_authority(context: Context, name: str, pem: str | None) -> None:
    """Keep the certificate that a pin names; None removes it. Raises OSError."""
    _write_or_remove(context, _path(context, check_remote_name(name), _AUTHORITY), pem)


def delete_remote(context: Context, name: str) -> None:
    """Remove a remote: its token first, so that no token is left without its remote, and its copy before its file."""
    save_token(context, name, None)
    save_authority(context, name, None)
    _write_or_remove(context, _copy(context, name), None)
    _write_or_remove(context, locate_remote_file(context, name), None)


def copy_remote_files(context: Context) -> None:
    """Keep a copy of every remote's file, from which a lost file is written again.

    Reading makes no copy: it could bring back a remote that is being removed. Raises OSError, Busy.
    """
    names = _names_in(context, context.home.remotes_folder)
    if all(_is_copied(context, name) for name in names):
        return
    with home_lock(context, "copy remotes", timeout=0):
        for name in names:
            with contextlib.suppress(FileNotFoundError, ConfigError):  # removed meanwhile, or it cannot be used
                data = read_all(context.files, locate_remote_file(context, name))
                parse_remote(data, name)
                config_file.remember_file(context.files, _copy(context, name), data)


def _is_copied(context: Context, name: str) -> bool:
    try:
        return read_all(context.files, locate_remote_file(context, name)) == read_all(
            context.files, _copy(context, name)
        )
    except FileNotFoundError:
        return False


def _copies(context: Context) -> Path:
    return context.home.state_folder / "remotes"


def _copy(context: Context, name: str) -> Path:
    return _copies(context) / f"{check_remote_name(name)}{_TOML}"


def _to_document(remote: RemoteConfig) -> JsonObject:
    return {
        "url": remote.url,
        "id": remote.id or None,
        "pin": remote.pin or None,
        "optional": remote.optional or None,
        "sealed": remote.sealed or None,
        "added_at": remote.added_at or None,
        "writers": remote.writers or None,
        "keeps_versions": remote.keeps_versions or None,
    }


def _write_or_remove(context: Context, path: Path, text: str | None) -> None:
    if text is not None:
        _write(context, path, text)
        return
    try:
        context.files.remove(path)
    except FileNotFoundError:
        return
    context.files.sync_folder(path.parent)


def _write(context: Context, path: Path, text: str) -> None:
    context.files.make_folders(path.parent, 0o700)
    write_atomic(context.files, path, text.encode())


def _text(context: Context, path: Path) -> str | None:
    """Return the text of a file, None if there is none. Raises OSError."""
    try:
        return read_all(context.files, path).decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def _path(context: Context, name: str, suffix: str) -> Path:
    return context.home.remotes_folder / f"{check_remote_name(name)}{suffix}"
