"""User name and password of a WebDAV server: one line of JSON, kept where credentials of remotes are kept."""

from __future__ import annotations

import base64

import msgspec

from lifeboat_core.errors import BadSetting


class WebdavCredentials(msgspec.Struct, frozen=True):
    user: str
    password: str

    def __repr__(self) -> str:
        return "WebdavCredentials(...)"

    @property
    def authorization(self) -> str:
        """Return the header for HTTP Basic authentication (RFC 7617)."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"


def read_credentials(text: str) -> str:
    """Return the credentials that a user gave, in two lines or as they are kept, as the token. Raises BadSetting, which
    repeats nothing of them."""
    found = _parse_kept(text) if text.lstrip().startswith("{") else _parse_lines(text)
    if found is None:
        raise BadSetting(
            "the credentials of a WebDAV server are the user name and the password, in two lines; the user name must "
            "not contain a colon",
            fix="lifeboat remote add --help",
        )
    return msgspec.json.encode(found).decode()


def parse_token(token: str) -> WebdavCredentials:
    """Return the credentials in a token. Raises BadSetting."""
    return msgspec.json.decode(read_credentials(token), type=WebdavCredentials)


def _parse_kept(text: str) -> WebdavCredentials | None:
    try:
        return _checked(msgspec.json.decode(text, type=WebdavCredentials))
    except (msgspec.DecodeError, RecursionError):
        return None


def _parse_lines(text: str) -> WebdavCredentials | None:
    lines = text.strip("\r\n").splitlines()
    return _checked(WebdavCredentials(lines[0].strip(), lines[1])) if len(lines) == 2 else None


def _checked(found: WebdavCredentials) -> WebdavCredentials | None:
    is_user = bool(found.user) and found.user.isprintable() and ":" not in found.user
    return found if is_user and found.password and found.password.isprintable() else None
