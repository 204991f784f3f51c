"""Explain an address that is no URL of a remote but resembles one: a path, a host, or a scheme with a typo."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes import remote_kinds
from lifeboat_core.remotes.sealed.folder_kind import make_folder_url
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.remote.join_lines import PREFIX, is_join_line

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(:/+|:|/+)(?=.*/|.*\.|.*@)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HOST = re.compile(r"(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)(:\d+)?(/\S*)?")
_OTHER_NAMES = {name: "webdav+https" for name in ("dav", "davs", "webdav", "webdavs")}
"""Schemes that other programs use, with the one of an installed kind that is meant."""
_JOIN_SCHEME = f"{PREFIX}https"


def refuse_mistyped_address(name: str, text: str) -> None:
    """Raise BadSetting if a text is no URL of an installed kind but resembles one. Its fix is the command for `name`
    with the address that was probably meant. It does not repeat a text that may hold a token."""
    text = text.strip()
    if is_join_line(text):
        return
    if remote_kinds.find_scheme(text) is None:
        _refuse_path(name, text)
        _refuse_scheme(name, text)
        _refuse_host(name, text)
    elif text.lower().startswith("file:"):
        _refuse_folder_host(name, text)


def _refuse_path(name: str, text: str) -> None:
    is_path = text.startswith(("/", "./", "../", "~")) or text in (".", "..") or _DRIVE.match(text)
    if is_path or ("@" not in text and os.path.isdir(text)):
        folder = Path(os.path.abspath(os.path.expanduser(text)))
        raise _refused(name, f"{text} is a path, but the address of a folder must begin with file://", folder)


def _refuse_scheme(name: str, text: str) -> None:
    found = _SCHEME.match(text)
    if found is None:
        return
    schemes = [*remote_kinds.list_schemes(), _JOIN_SCHEME]
    meant = difflib.get_close_matches(found[1].lower(), schemes, n=1, cutoff=0.7)
    other_name = _OTHER_NAMES.get(found[1].lower())
    if other_name is not None and "@" not in text:
        raise BadSetting(
            f"{found[0]!r} is not a known scheme; the address of a WebDAV folder begins with {other_name}://",
            fix=_add_command(name, f"{other_name}://{text[found.end() :]}"),
        )
    if not meant:
        return
    if meant[0] == _JOIN_SCHEME or "@" in text:  # it may hold a token, so that it is not repeated
        message = f"the address begins with {found[1]!r}, but a join line begins with {_JOIN_SCHEME}://"
        raise BadSetting(message, fix=f"lifeboat remote add {quote_argument(name)}")
    message = f"{found[0]!r} is not a known scheme"
    rest = text[found.end() :]
    if meant[0] == "file":
        raise _refused(name, message, Path("/", unquote(rest)))
    raise BadSetting(message, fix=_add_command(name, f"{meant[0]}://{rest}"))


def _refuse_host(name: str, text: str) -> None:
    if _HOST.fullmatch(text):
        message = f"{text} is a host without a scheme; the address of an endpoint must begin with https://"
        raise BadSetting(message, fix=_add_command(name, f"https://{text}"))


def _refuse_folder_host(name: str, text: str) -> None:
    """Raise BadSetting for file://media/stick: what follows two slashes is a host."""
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        folder = Path("/", parts.netloc, unquote(parts.path).lstrip("/"))
        raise _refused(name, f"{text} has two slashes, but the address of a folder needs three (file:///)", folder)


def _refused(name: str, message: str, folder: Path) -> BadSetting:
    return BadSetting(message, fix=_add_command(name, make_folder_url(folder)))


def _add_command(name: str, url: str) -> str:
    return f"lifeboat remote add {quote_argument(name)} {quote_argument(url)}"
