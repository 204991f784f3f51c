"""Recognise files that programs make to hold credentials, by their name and sometimes by their beginning.

Everything that their format defines as a credential is cut, even if its value does not look like one. Lines are matched
and nothing is parsed as a whole, so secrets in a damaged file are cut, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.secrets import secret_names
from lifeboat_adapters.secrets.entropy import is_plain_word, is_random
from lifeboat_adapters.secrets.secret_finder import add_secret_matches, replace_surrogates

LARGEST = 16 << 20
"""Bytes. Larger files are treated as data, regardless of their name."""

_SECRET_NAME = (
    rb"(?:password|passwd|passphrase|pwd|secret|token|private[._-]?key|access[._-]?key(?:[._-]?id)?|api[._-]?key|authorization"
    rb"|connection[._-]?string)"
)
_SHELL = (
    rb"\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|mongo|mongosh)\b[^\n;|&]{0,512}?\s-p ?['\"]?([^\s'\"]+)",
    rb"(?:\s-u|--user|--proxy-user)[ =]?['\"]?[^\s:'\"]{1,256}:([^\s'\"]+)",
    rb"(?i)\s--?(?:[a-z-]{0,64}(?:password|passwd|passphrase|token|secret|api-?key|access-?key))[ =]['\"]?([^\s'\"]+)",
    rb"(?i)\b(?:identified by|password|pragma (?:re)?key\s*=) ?['\"]([^'\"\n]+)",
    rb"(?im)^auth\s+(?:\S{1,256}\s+)?(\S+)[ \t]*$",
    rb"(?i)\b[a-z0-9_]{0,64}(?:password|passwd|pwd|secret|token|api_?key|access_?key)=['\"]?([^\s'\"]+)",
    rb"[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s/:@]{0,256}:([^\s/@]{1,4096})@",
    # Interactive interpreters keep histories, too: `login("ada", "...")`, `password = "..."`.
    rb"(?i)\b\w{0,64}(?:log_?in|sign_?in|auth|passw|secret|token|api_?key)\w{0,64}"
    rb"\((?:[^()\n]{0,512},)?[ \t]{0,8}['\"]([^'\"\n]+)['\"][ \t]{0,8}\)",
    rb"(?i)\b\w{0,64}(?:passw|secret|token|api_?key)\w{0,64}[ \t]{1,8}=[ \t]{0,8}['\"]([^'\"\n]+)",
)
_ASSIGNMENTS = (
    rb"(?im)^[ \t]*(?:export[ \t]+)?[\w.\[\]/:@-]{0,128}"
    + _SECRET_NAME
    + rb"[\w.-]{0,64}[ \t]*[=:][ \t]*[\"']?([^\r\n\"']*[^\s\"'])",
    rb"[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s/:@]{0,256}:([^\s/@]{1,4096})@",
)
_LOGIN_NAME = rb"(?:(?:access|refresh|id|bearer)[_-]?token|password|api[_-]?key|client[_-]?secret)"


def _json_value(name: bytes) -> bytes:
    """Return the pattern of a text in JSON under a name."""
    return rb"(?i)\"" + name + rb"\"\s*:\s*\"((?:[^\"\\]|\\.)+)\""


_JSON = (rb"(?i)\"[\w.-]{0,64}" + _SECRET_NAME + rb"[\w.-]{0,64}\"\s*:\s*\"((?:[^\"\\]|\\.)+)\"",)
_YAML = (
    rb"(?im)^[ \t-]*[\w.-]{0,64}(?:"
    + _SECRET_NAME
    + rb"|client-key-data)[ \t]*:[ \t]*[\"']?([^\s\"'#|>][^\r\n\"'#]*[^\s\"'#])",
)
_ALL_OF_IT = (rb"\A\s*(\S{8,4096})\s*\Z",)
"""A file that consists of one word."""
_NETRC = (rb"\bpassword\s+(\S+)",)
_LISTED = (*_ALL_OF_IT, rb"(?m)^[^\r\n:=]{1,128}[:=][ \t]{0,16}(?![a-z]{2,8}://)(\S{4,4096})[ \t]{0,16}\r?$")
"""Also matches a list of names with one word behind each. A line of prose has more words."""
_CODES = (
    rb"(?m)^[ \t]{0,16}(?:[0-9]{1,2}[.)][ \t]{1,16}|[*-][ \t]{1,16})?(?=[^\r\n]{0,80}[0-9-])"
    rb"([A-Za-z0-9]{4,32}(?:[ -][A-Za-z0-9]{4,32}){0,7})[ \t]{0,16}\r?$",
)
_CONNECTION = rb"(?i)[;\"'\s](?:password|pwd|accountkey|sharedaccesskey)[ ]{0,8}=[ ]{0,8}([^;\"'\r\n<>]+)"
"""The password in a connection string of .NET."""
_PRIVATE_KEY = (
    rb"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----\s*"
    rb"((?:(?!-----BEGIN)[A-Za-z0-9+/=\s\\:,.-]){1,16384}?)\s*-----END ",
)


class CredentialFileKind(NamedTuple):
    """One kind of credential file: its names, a text that must be in it, and patterns whose first group is
    the secret."""

    service: str
    name: str
    patterns: tuple[bytes, ...]
    mark: bytes = b""
    credential_type: str = "custom"


_BY_PLAIN_NAME = CredentialFileKind(
    "custom", r"(?:[\w.-]*[._-])?(?:token|secret|api[._-]?key|password|passphrase)(?:\.txt|\.key)?", _ALL_OF_IT
)
_LIST_BY_PLAIN_NAME = CredentialFileKind(
    "custom",
    r"(?:[\w.-]*[._-])?(?:passwords?|passwd|passphrases?|credentials)\.txt|(?:secrets?|tokens?|api[._-]?keys?)\.txt",
    _LISTED,
)
_BY_PLAIN_NAMES = (_BY_PLAIN_NAME, _LIST_BY_PLAIN_NAME)
"""File names that no program prescribes. A user may keep a path to the secret in such a file."""

KINDS = (
    CredentialFileKind("netrc", r"[._]netrc", _NETRC),
    CredentialFileKind("netrc", r"netrc", _NETRC, b"machine "),
    CredentialFileKind("postgresql", r"\.pgpass|pgpass\.conf", (rb"(?m)^(?!#)(?:(?:[^:\\\r\n]|\\.)*:){4}([^\r\n]+)",)),
    CredentialFileKind(
        "npm", r"\.npmrc|\.yarnrc", (rb"(?m)^[^#;\r\n]*_(?:authToken|auth|password)\s*[= ]\s*\"?([^\s\"]+)",)
    ),
    CredentialFileKind("git", r"\.git-credentials", (rb"(?m)^[a-z]+://[^\s/:@]*:([^\s@]+)@",)),
    CredentialFileKind(
        "docker",
        r"config\.json|\.dockercfg|\.dockerconfigjson",
        (rb"\"(?:auth|password|identitytoken|registrytoken)\"\s*:\s*\"((?:[^\"\\]|\\.)+)\"",),
        b'"auth',
    ),
    CredentialFileKind(
        "ssh", r"id_(?!.*\.pub$)[\w.-]+|.+\.(?:pem|key|p8)", _PRIVATE_KEY, b"PRIVATE KEY-----", "ssh_key"
    ),
    CredentialFileKind("aws", r"credentials", _ASSIGNMENTS, b"aws_"),
    CredentialFileKind("kubernetes", r"config|kubeconfig[\w.-]*|.+\.kubeconfig", _YAML, b"clusters:"),
    CredentialFileKind(
        "google", r".+\.json", (rb"\"private_key(?:_id)?\"\s*:\s*\"((?:[^\"\\]|\\.)+)\"",), b'"service_account"'
    ),
    CredentialFileKind("shell", r"\.\w+_history|fish_history|\.histfile|\.Rhistory", _SHELL),
    CredentialFileKind("cookies", r"cookies?\.json|storage_?state\.json", (_json_value(rb"value"),)),
    CredentialFileKind("oauth", r"auth\.json|oauth_creds\.json|\.credentials\.json", (_json_value(_LOGIN_NAME),)),
    CredentialFileKind("terraform", r"\.terraformrc|terraform\.rc", _ASSIGNMENTS),
    CredentialFileKind(
        "wireguard", r".+\.conf", (rb"(?m)^[ \t]*(?:PrivateKey|PresharedKey)[ \t]*=[ \t]*(\S+)",), b"[Interface]"
    ),
    CredentialFileKind(
        "openvpn",
        r".+\.ovpn",
        (
            *_PRIVATE_KEY,
            rb"<auth-user-pass>\s*[^\r\n]+\r?\n([^\r\n]+)",
            rb"-----BEGIN OpenVPN Static key V1-----\s*([0-9a-fA-F\s]{1,4096}?)\s*-----END ",
        ),
    ),
    CredentialFileKind("htpasswd", r"\.htpasswd", (rb"(?m)^[^#:\r\n][^:\r\n]*:([^\r\n]+)",)),
    CredentialFileKind("rails", r"(?:master|production|staging|development|test)\.key", _ALL_OF_IT),
    CredentialFileKind("ansible", r"\.?vault[._-]pass(?:word)?(?:\.txt)?|\.vault_pass(?:word)?(?:\.txt)?", _ALL_OF_IT),
    CredentialFileKind(
        "cookies", r"cookies?\.txt", (rb"(?m)^(?:#HttpOnly_)?[^\s#][^\t\r\n]*\t(?:[^\t\r\n]*\t){5}([^\r\n]+)",)
    ),
    CredentialFileKind("terraform", r".+\.tfstate(?:\.backup)?", _JSON),
    CredentialFileKind("terraform", r".+\.tfvars", _ASSIGNMENTS),
    CredentialFileKind(
        "wordpress",
        r"wp-config\.php",
        (
            rb"define\(\s*['\"]\w{0,64}(?:PASSWORD|_KEY|_SALT|SECRET|TOKEN)['\"]\s*,\s*'([^'\n]+)'",
            rb"define\(\s*['\"]\w{0,64}(?:PASSWORD|_KEY|_SALT|SECRET|TOKEN)['\"]\s*,\s*\"([^\"\n]+)\"",
        ),
    ),
    CredentialFileKind(
        "maven",
        r"settings(?:-security)?\.xml|nuget\.config",
        (
            rb"<(?:password|passphrase|master|token|apiKey)>([^<]+)</",
            rb"(?i)key=\"\w{0,64}?(?:password|token|key)\" value=\"([^\"]+)\"",
        ),
    ),
    CredentialFileKind("custom", r"\.envrc|.+\.properties|\.pypirc|\.my\.cnf|\.s3cfg|\.boto", _ASSIGNMENTS),
    CredentialFileKind(
        "rclone",
        r"rclone\.conf",
        (*_ASSIGNMENTS, rb"(?m)^[ \t]*pass[ \t]*=[ \t]*(\S+)", rb"(?m)^[ \t]*token[ \t]*=[ \t]*(\{[^\r\n]+\})"),
    ),
    CredentialFileKind("1password", r"config", (_json_value(rb"accountKey"),), b'"accountKey"'),
    CredentialFileKind("mysql", r"\.mylogin\.cnf", (rb"(?s)\A\0{0,4}(.{1,65536})",)),
    CredentialFileKind(
        "dotnet",
        r"(?:app|local\.)settings(?:\.[\w-]+)?\.json|(?:web|app)(?:\.[\w-]+)?\.config|.+\.(?:exe|dll)\.config",
        (
            _json_value(
                rb"[\w.:-]{0,64}(?:password|pwd|passphrase|secret|token|(?:api|access|account|private|signing)_?key)"
            ),
            rb"(?i)\"key\"\s*:\s*\"([^\"\\\s]{16,4096})\"",
            rb"(?i)key=\"[\w.:-]{0,64}?(?:password|secret|token|apikey)\" value=\"([^\"]+)\"",
            _CONNECTION,
        ),
    ),
    CredentialFileKind("github", r"hosts\.yml", _YAML, b"oauth_token"),
    CredentialFileKind("mcp", r"\.?mcp\.json", (*_JSON, rb"(?i)\"[\w-]{0,64}key\"\s*:\s*\"((?:[^\"\\]|\\.)+)\"")),
    CredentialFileKind("vault", r"\.vault-token", _ALL_OF_IT),
    CredentialFileKind(
        "custom", r"(?:[\w.-]*[._-])?(?:recovery|backup|2fa|mfa)[._-]?codes?(?:[._-][\w-]+)?\.txt", _CODES
    ),
    _LIST_BY_PLAIN_NAME,
    _BY_PLAIN_NAME,
)
_PASSWORD_NAME = re.compile(r"(?i)passw|passphrase|credential")
"""File names for passwords. A password may be a plain word; an issued secret is not, so a plain word in a file `secret`
is a note."""
_OF_A_COPY = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save)|[._-]backup)$", re.IGNORECASE)
_LONGEST_WORD = 64
"""Bytes of a file that holds one plain word, including white space around it."""
_PLACE = re.compile(r"(?:\.{0,2}|~|[A-Za-z][A-Za-z0-9+.-]{0,31}:/)/")
_NOT_REAL = re.compile(r"(?i).*(?:example|sample|template)")
_NAMES = [re.compile(kind.name, re.IGNORECASE) for kind in KINDS]


def find_credential_file_secrets(name: str, data: bytes) -> list[FileSecret] | None:
    """Return the secrets of a file by its name without folders, None for a file that is no credential file.

    A copy that an editor or a user leaves beside a file (`.netrc~`, `.npmrc.bak`) is of the same kind.
    """
    if len(data) > LARGEST or _NOT_REAL.match(name):
        return None
    plain = _OF_A_COPY.sub("", name)
    for kind, named in zip(KINDS, _NAMES, strict=True):
        if named.fullmatch(plain) and kind.mark in data:
            if kind in _BY_PLAIN_NAMES and not _PASSWORD_NAME.search(plain) and _is_one_word(data):
                return add_secret_matches(name, data, [])
            return add_secret_matches(name, data, _apart(_secrets(kind, data)))
    return None


def _secrets(kind: CredentialFileKind, data: bytes) -> Iterator[FileSecret]:
    for pattern in kind.patterns:
        for hit in re.finditer(pattern, data):
            value = replace_surrogates(hit[1].decode("utf-8", "surrogateescape"))
            is_place = kind in _BY_PLAIN_NAMES and _is_place(value)
            if not secret_names.is_reference(value) and not secret_names.is_variable_name(value) and not is_place:
                yield FileSecret(hit.start(1), hit.end(1), value, kind.service, kind.credential_type, kind.service)


def _is_one_word(data: bytes) -> bool:
    """Return whether a file holds one plain word, possibly with punctuation."""
    return len(data) <= _LONGEST_WORD and is_plain_word(data.decode("latin-1").strip().rstrip(".!?"))


def _is_place(value: str) -> bool:
    """Return whether a value is a path or an address without a secret in it."""
    return _PLACE.match(value) is not None and "@" not in value and not is_random(value)


def _apart(found: Iterator[FileSecret]) -> list[FileSecret]:
    """Return places without overlaps: the first of those that overlap, and the longest of those that begin together."""
    apart: list[FileSecret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart
