"""Translate credentials of another runtime to OpenClaw's names: auth profiles, tokens of channels, variables.

OpenClaw refuses a configuration with a single unknown key. So only channels that every release has get their tokens
there. All other credentials become variables in `.env`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_purposes import (
    DEFAULT,
    EMPTY,
    TAKEN,
    CredentialPurpose,
    CredentialUse,
    NoPlaceForCredential,
    config_name_of,
    place_credentials,
    variable_name_for,
)
from lifeboat_adapters.credential_types import CredentialRefusal, ForeignCredential, Place, TranslatedCredentials
from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.openclaw.credentials.openclaw_auth_profiles import AGENT
from lifeboat_adapters.openclaw.restore.openclaw_config_merging import OLD
from lifeboat_adapters.secrets.dotenv_leaves import dotenv_line
from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

CONFIG = f"{openclaw_paths.HOME}{openclaw_paths.CONFIG}"
VARIABLES = f"{openclaw_paths.HOME}.env"

NEW_GATEWAY = Reason(CredentialRefusal.NEW_GATEWAY, runtime="OpenClaw")
NOT_A_LINE = Reason(CredentialRefusal.NOT_A_LINE)

_CHANNEL_FIELDS = {
    ("telegram", "bot_token"): "botToken",
    ("discord", "bot_token"): "token",
    ("slack", "bot_token"): "botToken",
    ("slack", "app_token"): "appToken",
    ("slack", "signing_secret"): "signingSecret",
}
_MEMBERS = {"access_token": "access", "refresh_token": "refresh", "access": "access", "refresh": "refresh"}
_PROVIDERS = {"gemini": "google"}
"""Providers that have another name in OpenClaw."""


def translate_for_openclaw_config(
    installation: Installation, credentials: Sequence[ForeignCredential], state: Any
) -> TranslatedCredentials:
    """Implement `CredentialSupport.translate`."""
    made = _OpenClawTranslation(installation)
    places, reasons = place_credentials(credentials, _order, made.put)
    return TranslatedCredentials(made.files(), places, reasons)


def _order(each: tuple[CredentialUse, ForeignCredential]) -> tuple[str, str, str, str]:
    use, credential = each
    return use.name, use.account, use.field, credential.id


class _OpenClawTranslation:
    """The translated files while they are built."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._config: JsonObject = {}
        self._variables: dict[str, str] = {}
        self._profiles: dict[str, JsonObject] = {}

    @property
    def _is_old(self) -> bool:
        return self._installation.layout == OLD

    def files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        if self._config:
            found[CONFIG] = _json(self._config)
        if self._variables:
            found[VARIABLES] = b"".join(dotenv_line(name, value) or b"" for name, value in self._variables.items())
        if self._profiles:
            found[self._profiles_path] = self._stored()
        return found

    @property
    def _profiles_path(self) -> str:
        if self._is_old:
            return f"{openclaw_paths.HOME}agents/{self._installation.native_id}/agent/auth-profiles.json"
        return openclaw_paths.AUTH_PROFILES

    def _stored(self) -> bytes:
        if self._is_old:
            return _json({"version": 1, "profiles": self._profiles})
        rows = ({"store": AGENT, "id": id, "credential": one} for id, one in self._profiles.items())
        return b"".join(json_codec.encode_canonical(row) + b"\n" for row in rows)

    def put(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        match use.purpose:
            case CredentialPurpose.GATEWAY:
                raise NoPlaceForCredential(NEW_GATEWAY)
            case CredentialPurpose.PROVIDER | CredentialPurpose.LOGIN | CredentialPurpose.TOKEN:
                return self._provider(use, credential)
            case CredentialPurpose.CHANNEL if (use.name, use.field) in _CHANNEL_FIELDS:
                return self._channel(use, credential)
        return self._variable(use, credential)

    def _provider(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        # ZeroClaw may know a provider only by its address; then its name is that of the address.
        own = use.name == "custom" and use.account != DEFAULT
        provider = use.account if own else _PROVIDERS.get(use.name, use.name)
        account = DEFAULT if own else use.account
        profile = {**_profile(use, credential), "provider": provider}
        if not self._is_old and self._installation.program is None and profile["type"] == "api_key":
            # Only the program can write to its store. A variable works without the program.
            return self._named(f"{config_name_of(provider).replace('-', '_').upper()}_API_KEY", credential.value)
        id = f"{provider}:{account}"
        if id in self._profiles:
            raise NoPlaceForCredential(TAKEN)
        self._profiles[id] = profile
        number = len(self._profiles) - 1
        return self._profiles_path, (("profiles", id) if self._is_old else (number,))

    def _channel(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        field = _CHANNEL_FIELDS[use.name, use.field]
        above: tuple[str, ...] = ("channels", use.name)
        above = above if use.account == DEFAULT else (*above, "accounts", use.account)
        table = self._config
        for key in above:
            table = table.setdefault(key, {})
        if table.setdefault(field, credential.value) != credential.value:
            raise NoPlaceForCredential(TAKEN)
        return CONFIG, (*above, field)

    def _variable(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        keys = credential.place[1] if credential.place is not None else ()
        if use.purpose is not CredentialPurpose.CHANNEL:
            return self._named(variable_name_for(credential, keys), credential.value)
        account = "" if use.account == DEFAULT else f"_{use.account}"
        return self._named(f"{use.name}{account}_{use.field}", credential.value)

    def _named(self, name: str, value: str) -> Place:
        name = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
        if dotenv_line(name, value) is None:
            raise NoPlaceForCredential(NOT_A_LINE)
        candidates = (name if number == 1 else f"{name}_{number}" for number in range(1, len(self._variables) + 2))
        free = next(each for each in candidates if self._variables.get(each, value) == value)
        self._variables[free] = value
        return VARIABLES, (free,)


def _profile(use: CredentialUse, credential: ForeignCredential) -> JsonObject:
    """Return a credential as OpenClaw's store keeps it, without the provider."""
    if use.purpose is CredentialPurpose.PROVIDER:
        return {"type": "api_key", "key": credential.value}
    expires = {} if credential.expires_at is None else {"expires": times.to_milliseconds(credential.expires_at)}
    if use.purpose is CredentialPurpose.TOKEN:
        return {"type": "token", "token": credential.value, **expires}
    members = credential.members or {"access": credential.value}
    tokens = {_MEMBERS[name]: value for name, value in members.items() if name in _MEMBERS and value}
    if not tokens:
        raise NoPlaceForCredential(EMPTY)
    return {"type": "oauth", **tokens, **expires}


def _json(document: JsonObject) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")
