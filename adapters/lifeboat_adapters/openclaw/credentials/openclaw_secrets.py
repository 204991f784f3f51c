"""Find credentials in files of OpenClaw, with the service of each, and mark those bound to this machine (ALF §3.4.2,
§8.3).

Logins of channels and credentials of this gateway are bound: using the same login in two places invalidates both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.openclaw.credentials import openclaw_auth_profiles
from lifeboat_adapters.openclaw.credentials.openclaw_auth_profiles import OpenClawProfile
from lifeboat_adapters.secrets import json5_leaves, secret_finder, secret_names, settings_files
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf

GATEWAY = "openclaw-gateway"

_CONFIG = re.compile(r"openclaw\.json(\.bak.*)?")
_DOTENV = re.compile(r"\.env(\.(?!example|sample|template)[\w.-]+)?")
_INCLUDED = re.compile(r"(?!skills/).+\.json5?")
_NAMED_BY_THE_NEXT = (
    ("models", "providers"),
    ("channels",),
    ("plugins", "entries"),
    ("skills", "entries"),
    ("mcp", "servers"),
)
_NAMED_AFTER_ITSELF = {("gateway",): GATEWAY, ("memory", "search"): "memory-search", ("memorySearch",): "memory-search"}
_GIVEN_TO_PROGRAMS = ("env", "headers")
_SETTING = re.compile(r"(?i).*(?:path|home|dir|url|host|port|level|lang|accept|content-type|user-agent|debug|env|mode)")
_LARGEST = 4 << 20
"""Bytes. A larger file is no configuration, and reading it value by value would block a capture."""
_LEAST_GIVEN = 8
"""Characters. Shorter values in the environment of a program are settings."""

_TYPES = {"api_key": "api_key", "token": "session_token", "oauth": "oauth_token"}
_MEMBERS = {"key": "api_key", "token": "session_token", "access": "oauth_token", "refresh": "oauth_token"}


def find_openclaw_secrets(path: str, data: bytes) -> list[FileSecret] | None:
    """Return the spans to cut in a file, by archive path, None for a file that never has its own secrets.

    References (`{source, provider, id}`) only name a secret and stay. Raises UnparsableSecrets.
    """
    if path in (openclaw_paths.AUTH_PROFILES, openclaw_paths.STORED_SECRETS):
        return list(_in_rows(path, data))
    home = openclaw_paths.in_home(path)
    if home is not None:
        found = _find_in_home(path, home, data)
        if found is not None:
            return found
    elif openclaw_paths.in_workspace(path) is None:
        return None
    name = path.rpartition("/")[2]
    if _CONFIG.fullmatch(name):
        return secret_finder.add_secret_matches(name, data, _in_config(name, data))
    if _DOTENV.fullmatch(name):
        _check_size(data)
        found = [_bound_by_name(_labelled(name, secret)) for secret in secret_finder.secrets_in_dotenv(data)]
        return secret_finder.add_secret_matches(name, data, found)
    settings = settings_files.find_settings_secrets(name, data)
    return None if settings is None else [_labelled(name, secret) for secret in settings]


def _find_in_home(path: str, home: str, data: bytes) -> list[FileSecret] | None:
    if home.startswith(openclaw_paths.CHANNEL_LOGINS):
        return _login(home, data)
    if openclaw_auth_profiles.is_profile_file(path):
        return _in_profiles(home.rpartition("/")[2], data)
    if home == openclaw_paths.SECRETS:
        _check_size(data)
        return [_labelled(home, _secret(data, leaf)) for leaf in json5_leaves.scan_json5(data) if _is_text(leaf)]
    if home.startswith("db/") or _CONFIG.fullmatch(home) or not _INCLUDED.fullmatch(home):
        return None
    return secret_finder.add_secret_matches(home, data, _in_config(home, data))


def _check_size(data: bytes) -> None:
    if len(data) > _LARGEST:
        raise UnparsableSecrets(f"the file is larger than the limit of {_LARGEST >> 20} MB")


# The configuration --------------------------------------------------------------------------------------------------


def _in_config(name: str, data: bytes) -> list[FileSecret]:
    _check_size(data)
    found = {secret.start: secret for secret in secret_finder.secrets_in_json5(data, service_of_setting)}
    for leaf in json5_leaves.scan_json5(data):
        if leaf.start not in found and _is_given_to_a_program(leaf):
            found[leaf.start] = _secret(data, leaf, service_of_setting(leaf))
    return [_bound_by_name(_labelled(name, found[start])) for start in sorted(found)]


def service_of_setting(leaf: ParsedLeaf) -> str:
    """Return the service of a configured secret, from its place in the configuration."""
    for place, service in _NAMED_AFTER_ITSELF.items():
        if leaf.path[: len(place)] == place:
            return service
    for place in _NAMED_BY_THE_NEXT:
        named = leaf.path[len(place)] if leaf.path[: len(place)] == place and len(leaf.path) > len(place) + 1 else None
        if isinstance(named, str):
            return named
    return secret_names.service_of_leaf(leaf)


def _is_given_to_a_program(leaf: ParsedLeaf) -> bool:
    """Return whether a value is in the environment or the headers of a tool. Most of them are keys, under any name that
    the tool asks for."""
    if len(leaf.path) < 2 or leaf.path[-2] not in _GIVEN_TO_PROGRAMS or leaf.path[0] not in ("mcp", "skills"):
        return False
    name = str(leaf.path[-1])
    return _is_text(leaf) and len(str(leaf.value)) >= _LEAST_GIVEN and _SETTING.fullmatch(name) is None


def _bound_by_name(secret: FileSecret) -> FileSecret:
    """Return whether a secret opens the gateway of this machine. Another machine has its own gateway."""
    bound = secret.service == GATEWAY or "OPENCLAW_GATEWAY_" in secret.label
    return replace(secret, bound=bound, service=GATEWAY) if bound else secret


# Stores -------------------------------------------------------------------------------------------------------------


def _in_profiles(name: str, data: bytes) -> list[FileSecret]:
    """Find the secrets of an `auth-profiles.json`: one credential for each profile."""
    _check_size(data)
    leaves = json5_leaves.scan_json5(data)
    try:
        listed = openclaw_auth_profiles.parse_profile_file(data)
    except ValueError:
        raise UnparsableSecrets("not JSON") from None
    by_id = {one.id: one for one in listed}
    found: list[FileSecret] = []
    for leaf in leaves:
        profile = by_id.get(str(leaf.path[1])) if leaf.path[:1] == ("profiles",) and len(leaf.path) > 2 else None
        if profile is not None and (secret := _of_profile(data, name, profile, leaf, 2)) is not None:
            found.append(secret)
        elif profile is None and secret_names.credential_type_of_leaf(leaf) is not None:
            found.append(_labelled(name, _secret(data, leaf)))
    return found


def _in_rows(path: str, data: bytes) -> Iterator[FileSecret]:
    """Find the secrets in the rows of a store, where each line is a JSON object."""
    at = 0
    for line in data.splitlines(keepends=True):
        for secret in _in_row(path, line):
            yield replace(secret, start=secret.start + at, end=secret.end + at)
        at += len(line)


def _in_row(path: str, line: bytes) -> Iterator[FileSecret]:
    row = json.loads(line)
    if path == openclaw_paths.STORED_SECRETS:
        yield from (
            _entry(line, row["name"], leaf) for leaf in json5_leaves.scan_json5(line) if leaf.path == ("value",)
        )
        return
    profile = OpenClawProfile(row["store"], row["id"], row["credential"])
    name = f"{profile.store} auth profiles"
    for leaf in json5_leaves.scan_json5(line):
        if leaf.path[:1] == ("credential",):
            secret = _of_profile(line, name, profile, leaf, 1)
            if secret is not None:
                yield secret


def _of_profile(data: bytes, name: str, profile: OpenClawProfile, leaf: ParsedLeaf, depth: int) -> FileSecret | None:
    """Return a leaf of a profile as a secret, None when it is none. The profile begins `depth` names down.

    The parts of a login form one credential with members. Any other secret in a profile (for example a pending
    replacement) is a separate credential.
    """
    place = leaf.path[depth:]
    label = secret_finder.replace_surrogates(f"{name}: {profile.id}")
    if not place or not _is_text(leaf):
        return None
    if len(place) == 1 and place[0] in _MEMBERS:
        kind = _TYPES.get(str(profile.credential.get("type")), _MEMBERS[str(place[0])])
        found = replace(_secret(data, leaf, profile.provider, kind), label=label, expires_at=profile.expires_at)
        if kind != "oauth_token":
            return found
        return replace(found, group=f"{profile.store} {profile.id}", member=str(place[0]))
    if secret_names.credential_type_of_leaf(leaf) is None:
        return None
    return replace(_secret(data, leaf, profile.provider), label=f"{label}: {'.'.join(map(str, place))}")


def _entry(line: bytes, name: str, leaf: ParsedLeaf) -> FileSecret:
    """Return an entry of the secret store as a secret. Its name gives the service, like the name of a variable."""
    named = leaf._replace(path=(name,))
    secret = _secret(
        line, named, secret_names.service_of_leaf(named), secret_names.credential_type_of_leaf(named) or "custom"
    )
    return _bound_by_name(_labelled("secret store", secret))


# Channel logins -----------------------------------------------------------------------------------------------------


def _login(home: str, data: bytes) -> list[FileSecret]:
    """Return a whole file as one secret, because channels change the format of their logins."""
    channel = re.split(r"[/-]", home.removeprefix(openclaw_paths.CHANNEL_LOGINS), maxsplit=1)[0].removesuffix(".json")
    value = data.decode("utf-8", "surrogateescape")
    return [FileSecret(0, len(data), value, channel or "channel", "custom", home, bound=True)] if data else []


# Helpers ------------------------------------------------------------------------------------------------------------


def _is_text(leaf: ParsedLeaf) -> bool:
    return isinstance(leaf.value, str) and bool(leaf.value) and not secret_names.is_reference(leaf.value)


def _secret(data: bytes, leaf: ParsedLeaf, service: str = "", kind: str = "") -> FileSecret:
    return secret_finder.secret_at(
        data,
        leaf,
        service or secret_names.service_of_leaf(leaf),
        kind or secret_names.credential_type_of_leaf(leaf) or "custom",
    )


def _labelled(name: str, secret: FileSecret) -> FileSecret:
    return replace(secret, label=f"{name}: {secret.label}")
