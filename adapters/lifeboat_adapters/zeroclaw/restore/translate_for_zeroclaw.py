"""Translate credentials of another runtime to ZeroClaw's names: a `config.toml` and an `auth-profiles.json`, as if
captured.

The values are in plain text here. They are encrypted when the files are merged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_purposes import (
    CHANNELS,
    DEFAULT,
    EMPTY,
    PROVIDERS,
    TAKEN,
    CredentialPurpose,
    CredentialUse,
    NoPlaceForCredential,
    config_name_of,
    place_credentials,
)
from lifeboat_adapters.credential_types import (
    CredentialRefusal,
    ForeignCredential,
    Place,
    TranslatedCredentials,
    UnparsableSecrets,
)
from lifeboat_adapters.persona.derivation_files import StateFiles
from lifeboat_adapters.secrets import json5_leaves
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import zeroclaw_auth_profiles
from lifeboat_adapters.zeroclaw.restore import toml_editing
from lifeboat_adapters.zeroclaw.restore.provider_names import provider_name
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

CONFIG = f"{zeroclaw_paths.HOME}{zeroclaw_paths.CONFIG}"
_OPENCLAW_CONFIG = f"{archive_layout.home_prefix('openclaw')}openclaw.json"
PROFILES = f"{zeroclaw_paths.HOME}{zeroclaw_paths.AUTH_PROFILES}"

NEW_GATEWAY = Reason(CredentialRefusal.NEW_GATEWAY, runtime="ZeroClaw")
NO_CHANNEL = Reason(CredentialRefusal.NO_CHANNEL, runtime="ZeroClaw")
LINK = Reason(CredentialRefusal.LINK_AGAIN)
NO_PLACE = Reason(CredentialRefusal.NO_VARIABLES, runtime="ZeroClaw")

_CHANNEL_NAMES = {"feishu": "lark", "nextcloud-talk": "nextcloud_talk", "qqbot": "qq"}
_FIELDS = {("discord", "token"): "bot_token", ("matrix", "token"): "access_token", ("telegram", "token"): "bot_token"}
_VARIABLES: Mapping[str, Path] = {
    "BRAVE_API_KEY": ("web_search", "brave_api_key"),
    "BRAVE_SEARCH_API_KEY": ("web_search", "brave_api_key"),
    "COMPOSIO_API_KEY": ("composio", "api_key"),
    "ELEVENLABS_API_KEY": ("providers", "tts", "elevenlabs", DEFAULT, "api_key"),
}
"""Variables of programs that ZeroClaw has a setting for."""
_MEMBERS = {
    "access": "access_token",
    "refresh": "refresh_token",
    "idToken": "id_token",
    "id": "id_token",
    **{name: name for name in zeroclaw_auth_profiles.LOGIN},
}


def translate_for_zeroclaw_config(
    installation: Installation, credentials: Sequence[ForeignCredential], state: Any
) -> TranslatedCredentials:
    """Implement `CredentialSupport.translate`."""
    made = _ZeroClawTranslation(installation, _addresses(state))
    places, reasons = place_credentials(credentials, _order, made.put)
    return TranslatedCredentials(made.files(), places, reasons)


def _order(each: tuple[CredentialUse, ForeignCredential]) -> tuple[bool, str, str, str]:
    """Sort the default account first, because it gets the name that an agent refers to."""
    use, credential = each
    return use.account != DEFAULT, use.name, use.account, credential.id


class _ZeroClawTranslation:
    """The translated files while they are built."""

    def __init__(self, installation: Installation, addresses: Mapping[str, str]) -> None:
        self._alias = installation.native_id
        self._is_early = installation.layout == zeroclaw_paths.EARLY
        self._addresses = addresses
        self._of_others = _channels_of_others(installation)
        self._config: JsonObject = {}
        self._profiles: dict[str, JsonObject] = {}

    def files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        if self._config:
            schema = {} if self._is_early else {"schema_version": zeroclaw_config.CURRENT_SCHEMA}
            found[CONFIG] = toml_editing.format_toml(schema | self._config)
        if self._profiles:
            active: dict[str, str] = {}
            for id, profile in self._profiles.items():
                active.setdefault(profile["model_provider"], id)
            document = {"schema_version": 1, "active_profiles": active, "profiles": self._profiles}
            found[PROFILES] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        return found

    def put(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        match use.purpose:
            case CredentialPurpose.GATEWAY:
                raise NoPlaceForCredential(NEW_GATEWAY)
            case CredentialPurpose.PROVIDER:
                return self._provider(use, credential)
            case CredentialPurpose.LOGIN | CredentialPurpose.TOKEN:
                return self._login(use, credential)
            case CredentialPurpose.CHANNEL:
                return self._channel(use, credential)
        if credential.place is not None and "/credentials/" in credential.place[0]:
            raise NoPlaceForCredential(LINK)
        if use.name not in _VARIABLES:
            raise NoPlaceForCredential(NO_PLACE)
        path = _VARIABLES[use.name]
        if self._is_early and path[0] == "providers":
            raise NoPlaceForCredential(NO_PLACE)
        return self._set(path, credential.value)

    def _provider(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        type_, alias, address = provider_name(use.name)
        alias = config_name_of(use.account) if alias == DEFAULT else alias
        if type_ not in PROVIDERS:
            account = "" if use.account == DEFAULT else use.account
            type_, alias = "custom", config_name_of(f"{use.name}-{account}") or DEFAULT
        address = address or (self._addresses.get(use.name) if type_ == "custom" else None)
        if self._is_early:
            return self._early_provider(use.name, address, credential.value)
        known = self._table("providers", "models", type_)
        if type_ != "custom" and DEFAULT not in known:
            alias = DEFAULT
        path: Path = ("providers", "models", type_, alias)
        place = self._set((*path, "api_key"), credential.value)
        if address:
            self._set((*path, "uri"), address)
        return place

    def _early_provider(self, name: str, address: str | None, value: str) -> Place:
        """Add a provider for an early release, which has one key, and settings of providers by their names."""
        named = f"custom:{address}" if address else name
        if "default_provider" not in self._config:
            self._config["default_provider"] = named
            return self._set(("api_key",), value)
        return self._set(("model_providers", named, "api_key"), value)

    def _login(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        provider, _, _ = provider_name(use.name)
        id = f"{provider}:{use.account}"
        if id in self._profiles:
            raise NoPlaceForCredential(TAKEN)
        profile: JsonObject = {"model_provider": provider, "profile_name": use.account}
        if use.purpose is CredentialPurpose.TOKEN:
            profile |= {"kind": "token", zeroclaw_auth_profiles.TOKEN: credential.value}
        else:
            members = credential.members or {"access": credential.value}
            tokens = {_MEMBERS[name]: value for name, value in members.items() if name in _MEMBERS and value}
            if not tokens:
                raise NoPlaceForCredential(EMPTY)
            profile |= {"kind": zeroclaw_auth_profiles.OAUTH, **tokens}
        if self._is_early:
            profile["provider"] = provider
        if credential.expires_at is not None:
            profile["expires_at"] = credential.expires_at
        self._profiles[id] = profile
        return PROFILES, ("profiles", id)

    def _channel(self, use: CredentialUse, credential: ForeignCredential) -> Place:
        type_ = _CHANNEL_NAMES.get(use.name, use.name)
        if type_ not in CHANNELS:
            raise NoPlaceForCredential(NO_CHANNEL)
        field = _FIELDS.get((use.name, use.field), use.field)
        account = config_name_of(use.account) or DEFAULT
        if f"{type_}.{account}" in self._of_others:
            account = self._alias if account == DEFAULT else f"{self._alias}-{account}"
        if self._is_early:
            return self._set(("channels_config", type_, field), credential.value)
        place = self._set(("channels", type_, account, field), credential.value)
        own = self._table("agents", self._alias)
        own["channels"] = sorted({*own.get("channels", ()), f"{type_}.{account}"})
        return place

    def _table(self, *keys: str) -> JsonObject:
        table = self._config
        for key in keys:
            table = table.setdefault(key, {})
        return table

    def _set(self, path: Path, value: str) -> Place:
        *above, last = map(str, path)
        table = self._table(*above)
        if last in table and table[last] != value:
            raise NoPlaceForCredential(TAKEN)
        table[last] = value
        return CONFIG, path


def _channels_of_others(installation: Installation) -> set[str]:
    """Return channels that other agents of an installation use. A new agent must not speak through them."""
    every = zeroclaw_config.list_zeroclaw_agents(zeroclaw_folders.config_values_of(installation))
    lists = (
        zeroclaw_config.get_nested(agent.values, "channels") for agent in every if agent.alias != installation.native_id
    )
    return {name for names in lists if isinstance(names, list) for name in names if isinstance(name, str)}


def _addresses(state: Any) -> dict[str, str]:
    """Return the addresses of providers that ZeroClaw does not know, from OpenClaw's configuration."""
    try:
        leaves = json5_leaves.scan_json5(StateFiles(state).read(_OPENCLAW_CONFIG) or b"{}")
    except UnparsableSecrets:
        return {}
    found = ((leaf.path, leaf.value) for leaf in leaves if isinstance(leaf.value, str) and leaf.value.strip())
    return {str(path[2]): value.strip() for path, value in found if _is_address(path)}


def _is_address(path: Path) -> bool:
    return len(path) == 4 and path[:2] == ("models", "providers") and path[3] == "baseUrl"
