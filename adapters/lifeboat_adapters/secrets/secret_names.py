"""Decide which names hold secrets: one table, matched against the end of a name split into words.

`botToken`, `bot_token`, `BOT-TOKEN` and `TELEGRAM_BOT_TOKEN` all end in the words "bot token". The first rule that
matches decides, so names that only sound like a secret (`maxTokens`, `publicKey`) come first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf


class SecretNameRule(NamedTuple):
    """A rule for names. `ending` are the last words of a name. `kind` is the type of the credential (ALF §3.4.3), None
    for no secret. `exact` requires the whole name, without words before. Values shorter than `least` are settings, not
    secrets (`access: "full"`)."""

    ending: str
    kind: str | None
    exact: bool = False
    least: int = 1


RULES = (
    SecretNameRule("max token", None),
    SecretNameRule("min token", None),
    SecretNameRule("context token", None),
    SecretNameRule("reserve token", None),
    SecretNameRule("public key", None),
    SecretNameRule("session key", None),
    SecretNameRule("sort key", None),
    SecretNameRule("primary key", None),
    SecretNameRule("cache key", None),
    SecretNameRule("bot token", "api_key"),
    SecretNameRule("app token", "api_key"),
    SecretNameRule("access token", "oauth_token"),
    SecretNameRule("refresh token", "oauth_token"),
    SecretNameRule("id token", "oauth_token"),
    SecretNameRule("oauth token", "oauth_token"),
    SecretNameRule("client secret", "oauth_token"),
    SecretNameRule("token", "session_token"),
    SecretNameRule("api key", "api_key"),
    SecretNameRule("apikey", "api_key"),
    SecretNameRule("api secret", "api_key"),
    SecretNameRule("auth key", "api_key"),
    SecretNameRule("access key", "api_key"),
    SecretNameRule("access key id", "api_key"),
    SecretNameRule("secret access key", "api_key"),
    SecretNameRule("secret key", "api_key"),
    SecretNameRule("secret key base", "custom"),
    SecretNameRule("account key", "api_key"),
    SecretNameRule("service key", "api_key"),
    SecretNameRule("encryption key", "custom"),
    SecretNameRule("master key", "custom"),
    SecretNameRule("encrypt key", "custom"),
    SecretNameRule("private key", "ssh_key"),
    SecretNameRule("ssh key", "ssh_key"),
    SecretNameRule("private key pem", "ssh_key"),
    SecretNameRule("tls key", "certificate"),
    SecretNameRule("signing key", "webhook_secret"),
    SecretNameRule("signing secret", "webhook_secret"),
    SecretNameRule("webhook secret", "webhook_secret"),
    SecretNameRule("secret", "custom"),
    SecretNameRule("password", "custom"),
    SecretNameRule("passwd", "custom"),
    SecretNameRule("passphrase", "custom"),
    SecretNameRule("passcode", "custom"),
    SecretNameRule("pass", "custom"),
    SecretNameRule("pwd", "custom"),
    SecretNameRule("pin", "custom", exact=True, least=4),
    SecretNameRule("service account", "custom", least=64),
    SecretNameRule("bearer", "session_token", least=8),
    SecretNameRule("pat", "api_key", least=16),
    SecretNameRule("authorization", "session_token"),
    SecretNameRule("cookie", "session_token"),
    SecretNameRule("connection string", "custom", least=16),
    SecretNameRule("access", "oauth_token", exact=True, least=16),
    SecretNameRule("refresh", "oauth_token", exact=True, least=16),
    SecretNameRule("key", "api_key", exact=True, least=16),
)

_BY_ENDING = {tuple(rule.ending.split()): rule for rule in reversed(RULES)}
_LONGEST = max(len(ending) for ending in _BY_ENDING)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Narrow on purpose: `$ummer2024` is a password, and cutting a reference does no harm.
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


def split_name_words(name: str) -> list[str]:
    """Return the words of a name in camelCase, snake_case, kebab-case or SHOUTING: `openAIApiKey` -> open, ai, api,
    key."""
    return [word.lower() for word in _WORD.findall(name)]


def credential_type_of_leaf(leaf: ParsedLeaf) -> str | None:
    """Return the credential type of a leaf that holds a secret, None when it holds none.

    Empty values, booleans and references (`${OPENAI_API_KEY}`, a `{source, provider, id}` object) are no secrets. A
    number is one only under a name for something that people type.
    """
    text = secret_text_of(leaf)
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
    """Return whether a value is only a reference to a secret (`${OPENAI_API_KEY}`)."""
    return _REFERENCE.fullmatch(text) is not None


def is_variable_name(text: str) -> bool:
    """Return whether a value is the name of a variable that holds a secret (`ANTHROPIC_API_KEY`). Some programs take it
    in the place of a secret. Notes mention such names, and they must not be cut."""
    return _VARIABLE_NAME.fullmatch(text) is not None


def _kind_of_address(text: str) -> str | None:
    """Return the type of an address that is secret under any name: one with a password in it, or one that allows
    posting to everyone who knows it."""
    if _URL_WEBHOOK.match(text):
        return "webhook_secret"
    return "custom" if _URL_PASSWORD.match(text) else None


def secret_text_of(leaf: ParsedLeaf) -> str:
    """Return the value as text, "" when it cannot be a secret."""
    if isinstance(leaf.value, str):
        return leaf.value
    if leaf.value is None or isinstance(leaf.value, bool):
        return ""
    return str(leaf.value)


def service_of_leaf(leaf: ParsedLeaf) -> str:
    """Return the service of a secret as far as names tell it: the words before the rule's words in the last name,
    otherwise the nearest name above that is not generic like "auth" or "accounts", otherwise "custom"."""
    names = [name for name in leaf.path if isinstance(name, str)]
    words = _words_of_leaf(leaf)
    own = [word for word in words[: len(words) - len(_ending(words))] if word not in _GENERIC and len(word) > 1]
    if own:
        return "-".join(own)
    for name in reversed(names[:-1]):
        if any(word not in _GENERIC for word in split_name_words(name)):
            return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return "custom"


def _rule_for(leaf: ParsedLeaf) -> SecretNameRule | None:
    words = _words_of_leaf(leaf)
    found = _BY_ENDING.get(_ending(words))
    return None if found is not None and found.exact and len(words) > len(found.ending.split()) else found


def _words_of_leaf(leaf: ParsedLeaf) -> list[str]:
    """Return the words of the last name. For the items of a list the name is read as singular (`apiKeys: ["..."]`)."""
    words = split_name_words(next((name for name in reversed(leaf.path) if isinstance(name, str)), ""))
    if words and isinstance(leaf.path[-1], int):
        words[-1] = words[-1].removesuffix("s")
    return words


def _ending(words: list[str]) -> tuple[str, ...]:
    """Return the longest ending of these words that a rule knows, () when there is none."""
    for count in range(min(_LONGEST, len(words)), 0, -1):
        if tuple(words[-count:]) in _BY_ENDING:
            return tuple(words[-count:])
    return ()
