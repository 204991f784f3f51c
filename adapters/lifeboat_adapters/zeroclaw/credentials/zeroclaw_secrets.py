"""Find credentials in files of ZeroClaw, with the service of each, and mark those bound to this machine (ALF §3.4.2,
§8.3).

A value is a secret when it is encrypted, or when its name says so: early releases stored the tokens of channels in
plain text. References (`op://`) only name a secret and stay. Credentials of this gateway are bound to this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.secrets import json5_leaves, secret_finder, secret_names, settings_files, toml_leaves
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption, zeroclaw_auth_profiles

GATEWAY = "zeroclaw-gateway"
OTP_SECRET = "otp-secret"
WEBAUTHN = "webauthn_credentials.json"
PROVIDER = "model-provider"
"""The service of a key for the default provider, where the file does not name the provider."""

_CONFIG = re.compile(r"config\.toml([.-].*)?")
_DOTENV = re.compile(r"\.env(\.(?!example|sample|template)[\w.-]+)?")
_NAMES = {"db_url": "custom", "webhook_key": "webhook_secret", "recovery_key": "custom", "nsec": "ssh_key"}
"""Fields that ZeroClaw encrypts although their names do not sound like secrets."""

_GIVEN_TO_PROGRAMS = frozenset(("env", "headers", "extra_headers", "http_headers", "secrets"))
_SETTING = re.compile(
    r"(?i).*(?:path|home|dir|url|host|port|level|lang|accept|content-type|user-agent|debug|env|mode|referer|title)"
)
_LEAST_GIVEN = 8
"""Characters. Shorter values in the environment of a program are settings."""
_LARGEST = 4 << 20
"""Bytes. A larger file is no configuration, and reading it value by value would block a capture."""

_NAMED_BY_THE_NEXT: tuple[Path, ...] = (
    ("providers", "models"),
    ("providers", "tts"),
    ("providers", "transcription"),
    ("model_providers",),
    ("tts_providers",),
    ("transcription_providers",),
    ("channels",),
    ("channels_config",),
    ("storage",),
    ("mcp", "servers"),
)
_DEFAULTS = ("default_provider", "default_model_provider", "model_provider")


def find_zeroclaw_secrets(path: str, data: bytes) -> list[FileSecret] | None:
    """Return the spans to cut in a file, by archive path, None for a file that never has its own secrets.
    Encrypted values are returned as in the file (see `decrypt_found_secrets`). Raises UnparsableSecrets."""
    if path.startswith(zeroclaw_paths.DATABASES):
        return _in_rows(path, data)
    if not path.startswith((zeroclaw_paths.HOME, zeroclaw_paths.RAW)):
        return None
    name = path.rpartition("/")[2]
    if path.startswith(zeroclaw_paths.HOME):
        found = _in_home(path.removeprefix(zeroclaw_paths.HOME), data)
        if found is not None:
            return found
    if _DOTENV.fullmatch(name):
        _check_size(data)
        return secret_finder.add_secret_matches(
            name, data, [_labelled(name, one) for one in secret_finder.secrets_in_dotenv(data)]
        )
    settings = settings_files.find_settings_secrets(name, data)
    return None if settings is None else [_labelled(name, secret) for secret in settings]


def _in_home(name: str, data: bytes) -> list[FileSecret] | None:
    if _CONFIG.fullmatch(name):
        return secrets_in_config(name, data)
    if name == zeroclaw_paths.AUTH_PROFILES:
        return _in_profiles(name, data)
    if name in (OTP_SECRET, WEBAUTHN):
        value = data.decode("utf-8", "surrogateescape")
        return (
            [FileSecret(0, len(data), value, GATEWAY, "custom", name, bound=name == WEBAUTHN)] if data.strip() else []
        )
    return None


def decrypt_found_secrets(installation: Installation, secrets: list[FileSecret]) -> list[FileSecret]:
    """Implement `CredentialSupport.decrypt`."""
    if not any(secret_encryption.is_encrypted_secret(secret.value) for secret in secrets):
        return secrets
    try:
        key = None if installation.state_dir is None else secret_encryption.read_key(installation.state_dir)
    except secret_encryption.BadSecretKey:
        key = None
    return [_opened(secret, key) for secret in secrets]


def _opened(secret: FileSecret, key: bytes | None) -> FileSecret:
    try:
        return replace(secret, value=secret_encryption.decrypt_secret(secret.value, key))
    except secret_encryption.UnreadableSecret:
        return replace(secret, locked=True)


# The configuration --------------------------------------------------------------------------------------------------


def secrets_in_config(name: str, data: bytes) -> list[FileSecret]:
    """Return the secrets of a `config.toml`, or of a copy of one. Raises UnparsableSecrets."""
    _check_size(data)
    leaves = toml_leaves.scan_toml(data)
    provider = _default_provider(leaves)
    found = []
    for leaf in leaves:
        kind = credential_type_of_setting(leaf)
        if kind is not None:
            secret = secret_finder.secret_at(data, leaf, service_of_zeroclaw_setting(leaf, provider), kind)
            found.append(replace(_labelled(name, secret), bound=leaf.path[:2] == ("gateway", "paired_tokens")))
    return secret_finder.add_secret_matches(name, data, found)


def credential_type_of_setting(leaf: ParsedLeaf) -> str | None:
    """Return the credential type of a configured value, None when it is no secret."""
    text = secret_names.secret_text_of(leaf)
    if not text or secret_encryption.is_reference(text):
        return None
    kind = secret_names.credential_type_of_leaf(leaf)
    if kind is None and isinstance(leaf.value, str):
        kind = _NAMES.get(str(leaf.path[-1]))
        if kind is None and (secret_encryption.is_encrypted_secret(text) or _is_given_to_a_program(leaf)):
            kind = "custom"
    return kind


def _is_given_to_a_program(leaf: ParsedLeaf) -> bool:
    """Return whether a value is in the environment or the headers of a tool. Most of them are keys, under any name that
    the tool asks for."""
    if len(leaf.path) < 2 or leaf.path[-2] not in _GIVEN_TO_PROGRAMS or secret_names.is_reference(str(leaf.value)):
        return False
    return len(str(leaf.value)) >= _LEAST_GIVEN and _SETTING.fullmatch(str(leaf.path[-1])) is None


def service_of_zeroclaw_setting(leaf: ParsedLeaf, provider: str = PROVIDER) -> str:
    """Return the service of a configured secret, from its place. `provider` is the name of the default provider."""
    if leaf.path[:1] == ("gateway",):
        return GATEWAY
    if leaf.path in (("api_key",), ("providers", "api_key")) or leaf.path[:2] == ("reliability", "api_keys"):
        return provider
    for place in _NAMED_BY_THE_NEXT:
        named = leaf.path[len(place)] if leaf.path[: len(place)] == place and len(leaf.path) > len(place) + 1 else None
        if isinstance(named, str):
            return named
    return secret_names.service_of_leaf(leaf)


def _default_provider(leaves: list[ParsedLeaf]) -> str:
    places = {(*above, name) for above in ((), ("providers",)) for name in _DEFAULTS}
    found = (leaf.value for leaf in leaves if leaf.path in places and isinstance(leaf.value, str) and leaf.value)
    return next(found, PROVIDER)


# Stores and rows ----------------------------------------------------------------------------------------------------


def _in_profiles(name: str, data: bytes) -> list[FileSecret]:
    """Find the secrets of `auth-profiles.json`: one credential for each profile, with all tokens of a login
    together."""
    _check_size(data)
    leaves = json5_leaves.scan_json5(data)
    listed = zeroclaw_auth_profiles.profiles_in_file(data)
    found = []
    for leaf in leaves:
        profile = listed.get(str(leaf.path[1])) if leaf.path[:1] == ("profiles",) and len(leaf.path) > 2 else None
        kind = _kind_in_profile(leaf)
        if kind is None:
            continue
        if profile is None:
            found.append(_labelled(name, secret_finder.secret_at(data, leaf, secret_names.service_of_leaf(leaf), kind)))
        else:
            found.append(_of_profile(data, name, profile, leaf, kind))
    return found


def _of_profile(
    data: bytes, name: str, profile: zeroclaw_auth_profiles.ZeroClawProfile, leaf: ParsedLeaf, kind: str
) -> FileSecret:
    secret = secret_finder.secret_at(data, leaf, profile.provider, kind)
    label = secret_finder.replace_surrogates(f"{name}: {profile.id}")
    if leaf.path[2:] not in zeroclaw_auth_profiles.MEMBERS:
        return replace(secret, label=f"{label}: {'.'.join(map(str, leaf.path[2:]))}")
    secret = replace(secret, label=label, expires_at=profile.expires_at)
    member = str(leaf.path[2])
    if member == zeroclaw_auth_profiles.TOKEN and not profile.is_login:
        return replace(secret, credential_type="session_token")
    return replace(secret, credential_type="oauth_token", group=profile.id, member=member)


def _kind_in_profile(leaf: ParsedLeaf) -> str | None:
    text = secret_names.secret_text_of(leaf)
    if isinstance(leaf.value, str) and secret_encryption.is_encrypted_secret(text):
        return secret_names.credential_type_of_leaf(leaf) or "custom"
    return None if secret_encryption.is_reference(text) else secret_names.credential_type_of_leaf(leaf)


def _in_rows(path: str, data: bytes) -> list[FileSecret]:
    """Find the secrets in rows of a database, where each line is a JSON object: fields with names for secrets, and in a
    scheduled command text that looks like a secret."""
    name = path.removeprefix(zeroclaw_paths.DATABASES).removesuffix(".jsonl")
    found: list[FileSecret] = []
    at = 0
    for line in data.splitlines(keepends=True):
        own = [
            _labelled(name, secret_finder.secret_at(line, leaf, secret_names.service_of_leaf(leaf), kind))
            for leaf, kind in _named(line)
        ]
        if path == zeroclaw_paths.CRON_JOBS:
            own = secret_finder.add_secret_matches(name, line, own)
        found += [replace(secret, start=secret.start + at, end=secret.end + at) for secret in own]
        at += len(line)
    return found


def _named(line: bytes) -> Iterator[tuple[ParsedLeaf, str]]:
    """Return the values of a row that are secrets by their names. The name of a row itself (`key`, `session_key`) is no
    secret."""
    if not line.strip():
        return
    for leaf in json5_leaves.scan_json5(line):
        kind = secret_names.credential_type_of_leaf(leaf) if leaf.path != ("key",) else None
        if kind is not None:
            yield leaf, kind


def _check_size(data: bytes) -> None:
    if len(data) > _LARGEST:
        raise UnparsableSecrets(f"the file is larger than the limit of {_LARGEST >> 20} MB")


def _labelled(name: str, secret: FileSecret) -> FileSecret:
    return replace(secret, label=f"{name}: {secret.label}")
