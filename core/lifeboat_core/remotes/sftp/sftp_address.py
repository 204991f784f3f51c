"""Addresses of SFTP servers: `sftp://[USER@]HOST[:PORT]/PATH`. HOST may be a name of the user's ssh configuration.

A path below the login folder begins with `/~/`. An address holds no password, and nothing in it can be taken for an
option of ssh or for a command.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from lifeboat_core.errors import BadSetting
from lifeboat_core.texts.human_text import quote_argument

SCHEME = "sftp"
SHAPE = "sftp://[USER@]HOST[:PORT]/PATH"
_ADDRESS = re.compile(r"sftp://(?:([^/@]*)@)?([^/@]*)(/.*)?", re.IGNORECASE | re.DOTALL)
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::(\d{1,5}))?")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+=@:-]+")
_LOGIN_FOLDER = "/~/"


@dataclass(frozen=True, slots=True)
class SftpAddress:
    """A checked address. `user` is "" and `port` 0 where the configuration of ssh decides. `path` is as the server gets
    it: relative to the login folder if it does not begin with a slash. `host` has no brackets."""

    user: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """Return the address in its normal form."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        server = f"{self.user}@{host}" if self.user else host
        path = self.path if self.path.startswith("/") else f"{_LOGIN_FOLDER}{self.path}"
        return f"{SCHEME}://{server}{f':{self.port}' if self.port else ''}{quote(path, safe='/~')}"

    @property
    def ssh_words(self) -> list[str]:
        """Return the arguments of ssh that name the server. The host cannot begin with a dash."""
        port = ["-p", str(self.port)] if self.port else []
        user = ["-l", self.user] if self.user else []
        return [*port, *user, self.host]

    def ssh_command(self, *words: str) -> str:
        """Return the command that a user runs to reach the server, with the words of a remote command."""
        return " ".join(quote_argument(word) for word in ("ssh", *self.ssh_words, *words))

    def sftp_command(self, *lines: str) -> str:
        """Return the command that carries out some lines of the program sftp. It also works with an account that may
        run no other program."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f" -P {self.port}" if self.port else ""
        target = quote_argument(f"{self.user}@{host}" if self.user else host)
        given = f"echo {quote_argument(lines[0])}" if len(lines) == 1 else _printf(lines)
        return f"{given} | sftp -b -{port} {target}"


def quote_sftp_path(path: str) -> str:
    """Return a path as a word of the program sftp."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return path if _PLAIN_PATH.fullmatch(path) else f'"{escaped}"'


def _printf(lines: tuple[str, ...]) -> str:
    return " ".join(("printf '%s\\n'", *(quote_argument(line) for line in lines)))


def parse_sftp_address(url: str) -> SftpAddress:
    """Return a checked address. Raises BadSetting, which does not repeat it: it may hold a password."""
    found = _ADDRESS.fullmatch(url.strip())
    if found is None or "?" in url or "#" in url:
        raise _refused(f"the address must have the form {SHAPE}")
    user, server = found[1], found[2]
    if user is not None and ":" in user:
        raise _refused("the address must not contain a password; ssh uses your keys and its agent")
    if user is not None and not _USER.fullmatch(user):
        raise _refused(f"the user name in the address is invalid; the address must have the form {SHAPE}")
    split = _HOST_AND_PORT.fullmatch(server)
    if split is None or not _is_host(split[1]):
        raise _refused(f"the host in the address is invalid; the address must have the form {SHAPE}")
    port = int(split[2] or 0)
    if split[2] is not None and not 0 < port < 1 << 16:
        raise _refused("the port in the address is invalid")
    return SftpAddress(user or "", split[1].strip("[]"), port, _check_path(found[3] or ""))


def _is_host(text: str) -> bool:
    if not text.startswith("["):
        return _HOST.fullmatch(text) is not None
    try:
        return ipaddress.ip_address(text.strip("[]")).version == 6
    except ValueError:
        return False


def _check_path(quoted: str) -> str:
    try:
        path = unquote(quoted, errors="strict")
    except UnicodeDecodeError:
        raise _refused("the path in the address must be UTF-8") from None
    is_below_login = path.startswith(_LOGIN_FOLDER)
    parts = [part for part in path[len(_LOGIN_FOLDER) if is_below_login else 0 :].split("/") if part]
    if not parts or not path.isprintable() or any(part in (".", "..", "~") for part in parts):
        raise _refused(f"the address must name a folder on the server: {SHAPE}, or sftp://HOST/~/PATH below your home")
    return ("" if is_below_login else "/") + "/".join(parts)


def _refused(message: str) -> BadSetting:
    return BadSetting(message, fix="lifeboat remote add --help")
