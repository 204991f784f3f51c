"""Determine the purpose of a credential of any runtime from its place, its service and its label.

Every runtime has keys of model providers, logins to them, and tokens of channels. All other credentials belong to some
program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lifeboat_adapters.credential_types import CredentialRefusal, ForeignCredential, Place
from lifeboat_adapters.secrets import secret_names
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common.reason_codes import Reason

DEFAULT = "default"

EMPTY = Reason(CredentialRefusal.EMPTY)
TAKEN = Reason(CredentialRefusal.TAKEN)

# fmt: off
PROVIDERS = frozenset((
    "anthropic", "azure", "bedrock", "cerebras", "cloudflare", "cohere", "copilot", "custom", "deepinfra",
    "deepseek", "doubao", "fireworks", "gemini", "glm", "google", "grok", "groq", "huggingface", "hunyuan",
    "litellm", "llamacpp", "lmstudio", "minimax", "mistral", "moonshot", "nvidia", "ollama", "openai", "opencode",
    "openrouter", "ovh", "perplexity", "qianfan", "qwen", "siliconflow", "stepfun", "telnyx", "together", "venice",
    "vercel", "vllm", "xai", "yi", "zai",
))
"""Known names of providers. A variable that begins with one of them holds its key."""
CHANNELS = frozenset((
    "bluesky", "dingtalk", "discord", "email", "irc", "lark", "line", "linq", "matrix", "mattermost", "mochat",
    "nextcloud_talk", "nostr", "qq", "reddit", "signal", "slack", "telegram", "twitch", "twitter", "wati", "wecom",
    "whatsapp",
))
_CHANNEL_FIELDS = frozenset((
    "access_token", "app_password", "app_secret", "app_token", "bot_token", "client_secret", "password",
    "signing_secret", "webhook_secret", "token",
))
# fmt: on
_LOGINS = re.compile(r".*(?:auth-profiles\.json|auth/profiles\.jsonl)")
_NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")


class CredentialPurpose(StrEnum):
    """What a credential is used for."""

    PROVIDER = "provider"
    """The key of a model provider."""
    LOGIN = "login"
    """Renewable tokens for a model provider."""
    TOKEN = "token"
    """One token for a model provider."""
    CHANNEL = "channel"
    GATEWAY = "gateway"
    """The password or token of the runtime's own gateway on that machine."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CredentialUse:
    """The use of a credential. `name` is the provider, the channel, or for any other credential the variable that a
    program would read. `account` tells several accounts of one channel apart. `field` is the channel's name for it, in
    snake_case."""

    purpose: CredentialPurpose
    name: str
    account: str = DEFAULT
    field: str = ""


def use_of_credential(credential: ForeignCredential) -> CredentialUse:
    """Return the use of a credential."""
    path, keys = credential.place or ("", ())
    if credential.service.endswith("-gateway"):
        return CredentialUse(CredentialPurpose.GATEWAY, credential.service)
    if _LOGINS.fullmatch(path):
        return _in_profiles(credential)
    match keys:
        case ("models", "providers", str(name), "apiKey"):
            return CredentialUse(CredentialPurpose.PROVIDER, name)
        case ("providers", "models", str(name), str(account), "api_key"):
            return CredentialUse(CredentialPurpose.PROVIDER, name, account)
        case ("providers", "models", str(name), "api_key") | ("model_providers", str(name), "api_key"):
            return CredentialUse(CredentialPurpose.PROVIDER, name)
        case ("provider", str(name), "options", "apiKey") | ("providers", str(name), "apiKey"):
            return CredentialUse(CredentialPurpose.PROVIDER, name)
        case ("credential_pool", str(name), _, "access_token"):
            return CredentialUse(CredentialPurpose.PROVIDER, name)
        case ("api_key",) | ("providers", "api_key") | ("reliability", "api_keys", _):
            return CredentialUse(CredentialPurpose.PROVIDER, credential.service)
        case ("channels", str(name), "accounts", str(account), *rest) if rest:
            return CredentialUse(CredentialPurpose.CHANNEL, name, account, field_name(rest[-1]))
        case ("channels", str(name), str(account), str(field)) if path.endswith(".toml"):
            return CredentialUse(CredentialPurpose.CHANNEL, name, account, field_name(field))
        case ("channels" | "channels_config", str(name), str(field)):
            return CredentialUse(CredentialPurpose.CHANNEL, name, DEFAULT, field_name(field))
    return _of_variable(variable_name_for(credential, keys))


class NoPlaceForCredential(Exception):
    """A runtime has no place for a credential; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def place_credentials(
    credentials: Iterable[ForeignCredential],
    order: Callable[[tuple[CredentialUse, ForeignCredential]], Any],
    put: Callable[[CredentialUse, ForeignCredential], Place],
) -> tuple[dict[str, Place], dict[str, Reason]]:
    """Return where `put` places each credential and why others have no place, both by id. `put` is called in the given
    order: the first credential gets a place that exists only once."""
    places: dict[str, Place] = {}
    reasons: dict[str, Reason] = {}
    for use, credential in sorted(((use_of_credential(each), each) for each in credentials), key=order):
        try:
            if not credential.value:
                raise NoPlaceForCredential(EMPTY)
            places[credential.id] = put(use, credential)
        except NoPlaceForCredential as refusal:
            reasons[credential.id] = refusal.reason
    return places, reasons


def _in_profiles(credential: ForeignCredential) -> CredentialUse:
    """Return the provider and the name of a profile. A label is `auth-profiles.json: provider:name`."""
    id = credential.label.partition(": ")[2].partition(": ")[0]
    provider, _, account = id.partition(":")
    kinds = {"oauth_token": CredentialPurpose.LOGIN, "session_token": CredentialPurpose.TOKEN}
    purpose = (
        CredentialPurpose.LOGIN
        if credential.members
        else kinds.get(credential.credential_type, CredentialPurpose.PROVIDER)
    )
    return CredentialUse(purpose, credential.service or provider, config_name_of(account) or DEFAULT)


def _of_variable(name: str) -> CredentialUse:
    words = name.lower()
    for provider in sorted(PROVIDERS, key=len, reverse=True):
        if words in (f"{provider}_api_key", f"{provider}_key", f"{provider}_token"):
            return CredentialUse(CredentialPurpose.PROVIDER, provider)
    for channel in CHANNELS:
        field = words.removeprefix(f"{channel}_")
        if field != words and field in _CHANNEL_FIELDS:
            return CredentialUse(CredentialPurpose.CHANNEL, channel, DEFAULT, field)
    return CredentialUse(CredentialPurpose.OTHER, name)


def variable_name_for(credential: ForeignCredential, keys: Path) -> str:
    """Return the name of a variable for a credential: the name it had, otherwise a stable name made from its place."""
    names = [each for each in keys if isinstance(each, str)]
    last = names[-1] if names else ""
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", last):
        return last
    if not names or last == "value":
        last = credential.label.rpartition(": ")[2]
        names = [last]
        if re.fullmatch(r"[A-Z][A-Z0-9_]*", last):
            return last
    own = secret_names.split_name_words(last)
    if credential.service and credential.service != "custom":
        service = secret_names.split_name_words(credential.service)
        own = own if own[: len(service)] == service else [*service, *own]
    made = re.sub(r"[^A-Z0-9]+", "_", "_".join(own).upper()).strip("_")
    return made if made and made[0].isalpha() else f"CREDENTIAL_{made or 'VALUE'}"


def field_name(name: object) -> str:
    """Return the name of a field in snake_case: `botToken` -> `bot_token`."""
    return "_".join(secret_names.split_name_words(str(name)))


def config_name_of(text: str) -> str:
    """Return a text as a name in a configuration: lower case, digits, `-` and `_`."""
    return _NOT_A_NAME.sub("-", text.lower()).strip("-")
