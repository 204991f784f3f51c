"""Which names hold secrets: one table, read from the end of a name split into words.

`botToken`, `bot_token`, `BOT-TOKEN` and `TELEGRAM_BOT_TOKEN` all end in the words "bot token". The first rule that
fits decides, so what only sounds like a secret (`maxTokens`, `publicKey`) stands on top.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lifeboat_adapters.secrets.leaves import Leaf


class Rule(NamedTuple):
    """`ending`: the last words of a name. `kind`: the credential's type (ALF §3.4.3), None: no secret. `exact`: the
    whole name, no words before. `least`: shorter values are settings, not secrets (`access: "full"`)."""

    ending: str
    kind: str | None
    exact: bool = False
    least: int = 1


RULES = (
    Rule("max token", None),
    Rule("min token", None),
    Rule("context token", None),
    Rule("reserve token", None),
    Rule("public key", None),
    Rule("session key", None),
    Rule("sort key", None),
    Rule("primary key", None),
    Rule("cache key", None),
    Rule("bot token", "api_key"),
    Rule("app token", "api_key"),
    Rule("access token", "oauth_token"),
    Rule("refresh token", "oauth_token"),
    Rule("id token", "oauth_token"),
    Rule("oauth token", "oauth_token"),
    Rule("client secret", "oauth_token"),
    Rule("token", "session_token"),
    Rule("api key", "api_key"),
    Rule("apikey", "api_key"),
    Rule("api secret", "api_key"),
    Rule("auth key", "api_key"),
    Rule("access key", "api_key"),
    Rule("access key id", "api_key"),
    Rule("secret access key", "api_key"),
    Rule("secret key", "api_key"),
    Rule("secret key base", "custom"),
    Rule("account key", "api_key"),
    Rule("service key", "api_key"),
    Rule("encryption key", "custom"),
    Rule("master key", "custom"),
    Rule("encrypt key", "custom"),
    Rule("private key", "ssh_key"),
    Rule("ssh key", "ssh_key"),
    Rule("private key pem", "ssh_key"),
    Rule("tls key", "certificate"),
    Rule("signing key", "webhook_secret"),
    Rule("signing secret", "webhook_secret"),
    Rule("webhook secret", "webhook_secret"),
    Rule("secret", "custom"),
    Rule("password", "custom"),
    Rule("passwd", "custom"),
    Rule("passphrase", "custom"),
    Rule("passcode", "custom"),
    Rule("pass", "custom"),
    Rule("pwd", "custom"),
    Rule("pin", "custom", exact=True, least=4),
    Rule("service account", "custom", least=64),
    Rule("bearer", "session_token", least=8),
    Rule("pat", "api_key", least=16),
    Rule("authorization", "session_token"),
    Rule("cookie", "session_token"),
    Rule("connection string", "custom", least=16),
    Rule("access", "oauth_token", exact=True, least=16),
    Rule("refresh", "oauth_token", exact=True, least=16),
    Rule("key", "api_key", exact=True, least=16),
)

_BY_ENDING = {tuple(rule.ending.split()): rule for rule in reversed(RULES)}
_LONGEST = max(len(ending) for ending in _BY_ENDING)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Narrow on purpose: `$ummer2024` is a password, and a reference that is cut comes back as it was.
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|(?:secretref-)?env:(?:[a-z]+:)?[A-Z][A-Z0-9_]*")
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@")
_URL_WEBHOOK = re.compile(r"https://(?:hooks\.slack\.com/services|(?:\w+\.)?discord(?:app)?\.com/api/webhooks)/\S{16}")
# fmt: off
_GENERIC = frozenset((
    "access", "account", "accounts", "agents", "app", "auth", "bot", "channels", "client", "config", "credentials",
    "default", "defaults", "entries", "env", "export", "headers", "hooks", "http", "items", "list", "main", "mcp",
    "model", "models", "options", "plugins", "profiles", "provider", "providers", "remote", "search", "secrets",
    "servers", "settings", "skills", "store", "tools", "vars", "web",
))
# fmt: on


def words_of(name: str) -> list[str]:
    """The words of a name in camelCase, snake_case, kebab-case or SHOUTING: `openAIApiKey` -> open, ai, api, key."""
    return [word.lower() for word in _WORD.findall(name)]


def kind_of(leaf: Leaf) -> str | None:
    """The credential type of a leaf that holds a secret, None when it holds none.

    Empty values, booleans and references (`${OPENAI_API_KEY}`, a `{source, provider, id}` object) are no secrets. A
    number is one only under a name for something people type.
    """
    text = text_of(leaf)
    if not text or is_reference(text):
        return None
    rule = _rule_for(leaf)
    if rule is None:
        return _kind_of_address(text)
    if rule.kind is None or len(text) < rule.least:
        return None
    if not isinstance(leaf.value, str) and rule.kind != "custom":
        return None
    return rule.kind


def is_reference(text: str) -> bool:
    """Whether a value says where a secret is (`${OPENAI_API_KEY}`) and is none itself."""
    return _REFERENCE.fullmatch(text) is not None


def is_variable_name(text: str) -> bool:
    """Whether a value is the name of a variable that holds a secret (`ANTHROPIC_API_KEY`), as some programs take it in
    the place of one: notes speak of it, and are not to be cut."""
    return _VARIABLE_NAME.fullmatch(text) is not None


def _kind_of_address(text: str) -> str | None:
    """Addresses that are secrets under any name: with a password in them, or whoever knows them may post."""
    if _URL_WEBHOOK.match(text):
        return "webhook_secret"
    return "custom" if _URL_PASSWORD.match(text) else None


def text_of(leaf: Leaf) -> str:
    """The value as text, "" where it cannot be a secret."""
    if isinstance(leaf.value, str):
        return leaf.value
    if leaf.value is None or isinstance(leaf.value, bool):
        return ""
    return str(leaf.value)


def service_of(leaf: Leaf) -> str:
    """Who a secret is for, as far as names tell: the words before the rule's in the last name, else the nearest name
    above that says more than "auth" or "accounts"; "custom" when none does."""
    names = [name for name in leaf.path if isinstance(name, str)]
    words = _words_of_leaf(leaf)
    own = [word for word in words[: len(words) - len(_ending(words))] if word not in _GENERIC and len(word) > 1]
    if own:
        return "-".join(own)
    for name in reversed(names[:-1]):
        if any(word not in _GENERIC for word in words_of(name)):
            return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return "custom"


def _rule_for(leaf: Leaf) -> Rule | None:
    words = _words_of_leaf(leaf)
    found = _BY_ENDING.get(_ending(words))
    return None if found is not None and found.exact and len(words) > len(found.ending.split()) else found


def _words_of_leaf(leaf: Leaf) -> list[str]:
    """The words of the last name; of a list's items the name is read as singular (`apiKeys: ["..."]`)."""
    words = words_of(next((name for name in reversed(leaf.path) if isinstance(name, str)), ""))
    if words and isinstance(leaf.path[-1], int):
        words[-1] = words[-1].removesuffix("s")
    return words


def _ending(words: list[str]) -> tuple[str, ...]:
    """The longest ending of these words that a rule knows, () when none does."""
    for count in range(min(_LONGEST, len(words)), 0, -1):
        if tuple(words[-count:]) in _BY_ENDING:
            return tuple(words[-count:])
    return ()
