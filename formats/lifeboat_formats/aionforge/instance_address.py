"""The address of an Aionforge instance, with the principal to ask as, in one line of text.

    http://127.0.0.1:3918/mcp#agent=UUID&teams=a,b
    stdio:aionforge serve stdio --data-dir /srv/memory#agent=UUID
    https://memory.example.com/mcp#token-file=/etc/memory-token

The part after `#` never leaves this machine: the agent is the asserted principal, unless a token determines the caller.
A token is never part of an address. It comes from a file that only its owner may read, or from the environment.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from lifeboat_alf.common import ids
from lifeboat_formats.interchange.errors import InstanceFailed, SourceRefused

DEFAULT = "http://127.0.0.1:3918/mcp"
"""The default address of `aionforge serve http`."""
TOKEN = "AIONFORGE_TOKEN"
"""The environment variable for a bearer token."""

_STDIO = "stdio:"
_NAMES = frozenset(("agent", "teams", "token-file"))
_LARGEST_TOKEN = 64 << 10
_EXAMPLE = f"{DEFAULT}#agent=UUID"


@dataclass(frozen=True, slots=True)
class AssertedPrincipal:
    """The principal that requests assert. With `agent_id` "" the token determines it."""

    agent_id: str = ""
    teams: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstanceAddress:
    """The `url` of a listening instance, or the `command` that starts one on its standard streams."""

    url: str = ""
    command: tuple[str, ...] = ()
    principal: AssertedPrincipal = AssertedPrincipal()
    token: str = field(default="", repr=False)

    @property
    def instance(self) -> str:
        """The instance and principal as text, as the key of persistent notes."""
        place = self.url or shlex.join(self.command)
        return f"{place} {self.principal.agent_id}".strip()


def is_address(source: str) -> bool:
    """Return whether a source is the address of a running instance."""
    return source.startswith((_STDIO, "http://", "https://"))


def parse_address(text: str, principal: AssertedPrincipal | None = None, token: str = "") -> InstanceAddress:
    """Parse an address. `principal` and `token` are defaults for what the text does not name. Raises SourceRefused, and
    InstanceFailed for an unreadable token."""
    place, _, fragment = text.partition("#")
    said = parse_qs(fragment, keep_blank_values=True)
    unknown = sorted(said.keys() - _NAMES)
    if unknown:
        raise SourceRefused(f"{unknown[0]!r} is not a known parameter after the # of an address", fix=_EXAMPLE)
    asked = _principal(said, principal or AssertedPrincipal())
    named = said.get("token-file", [""])[0]
    token = read_token_file(Path(named).expanduser()) if named else token
    if place.startswith(_STDIO):
        return InstanceAddress(command=_command(place.removeprefix(_STDIO)), principal=asked, token=token)
    return InstanceAddress(url=_url(place), principal=asked, token=token)


def principal_of(agent_id: str, teams: str) -> AssertedPrincipal:
    """Parse a principal from user input: a UUID and comma-separated names. Raises SourceRefused."""
    agent_id = agent_id.strip()
    if agent_id and not ids.is_uuid(agent_id):
        raise SourceRefused("the id of an Aionforge agent must be a UUID", fix=_EXAMPLE)
    return AssertedPrincipal(agent_id.lower(), tuple(name for each in teams.split(",") if (name := each.strip())))


def read_token_file(path: Path) -> str:
    """Read a bearer token from a file that only its owner may read. Raises InstanceFailed, without the file's
    content."""
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(_LARGEST_TOKEN + 1)
    except OSError as error:
        raise InstanceFailed(f"the token in {path} cannot be read: {error.strerror}", fix=f"ls -l {path}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InstanceFailed(f"other users of this machine can read the token in {path}", fix=f"chmod 600 {path}")
    return check_token(data.decode("ascii", "replace").strip(), str(path))


def read_environment_token(environment: Mapping[str, str]) -> str:
    """Return the token in the environment, or "". Raises InstanceFailed."""
    found = environment.get(TOKEN, "").strip()
    return check_token(found, TOKEN) if found else ""


def check_token(text: str, where: str) -> str:
    """Return a token after checking that it fits into a header. Raises InstanceFailed."""
    if not text or len(text) > _LARGEST_TOKEN or not all("!" <= char <= "~" for char in text):
        raise InstanceFailed(f"{where} contains no token; one line of letters, digits and punctuation was expected")
    return text


def _principal(said: Mapping[str, list[str]], known: AssertedPrincipal) -> AssertedPrincipal:
    named = principal_of(said.get("agent", [""])[0], said.get("teams", [""])[0])
    return AssertedPrincipal(named.agent_id or known.agent_id, named.teams or known.teams)


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise SourceRefused(f"the text after {_STDIO} is not a command: {error}") from None
    if not words or any("\0" in word for word in words):
        raise SourceRefused(f"{_STDIO} must be followed by a command", fix="stdio:aionforge serve stdio")
    return words


def _url(place: str) -> str:
    try:
        parts = urlsplit(place)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_whole = False
    if not is_whole:
        raise SourceRefused("the text is not the address of an Aionforge server", fix=_EXAMPLE)
    if parts.username or parts.password:
        raise SourceRefused(
            "the address contains a user name or a password", fix="put the token into a file and use --token-file FILE"
        )
    return place if parts.path not in ("", "/") else f"{parts.scheme}://{parts.netloc}/mcp"
