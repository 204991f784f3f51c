"""Deliver credentials into the databases in which later releases of OpenClaw keep them.

Nothing is ever written into those databases directly. The program has commands for keys and for tokens, and it imports
logins from the file of an older release when it repairs itself. Values are passed on standard input or in a file that
is removed afterwards, never in arguments or the environment, which other users can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from lifeboat_adapters.additive_merging import KEPT
from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import CredentialDelivery, CredentialRefusal, Place
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.openclaw import openclaw_config, openclaw_databases, openclaw_paths
from lifeboat_adapters.openclaw.credentials import openclaw_auth_profiles
from lifeboat_adapters.openclaw.credentials.openclaw_auth_profiles import AGENT, SHARED, OpenClawProfile
from lifeboat_adapters.openclaw.restore.credential_file_merging import (
    is_live_token,
    is_usable,
    merge_openclaw_profiles,
    reason_to_keep,
)
from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_adapters.secrets.dotenv_leaves import dotenv_line
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

RUNTIME = "OpenClaw"
NO_PROGRAM = Reason(CredentialRefusal.NO_PROGRAM, runtime=RUNTIME)
NOT_TAKEN = Reason(CredentialRefusal.NOT_TAKEN, runtime=RUNTIME)
_SECRET_STORE = "OpenClaw's secret store"
_FILE = "auth-profiles.json"
_SETUP_TOKEN = "sk-ant-oat01-"
"""The prefix that `paste-token` requires for Anthropic."""


@dataclass(frozen=True, slots=True)
class _ArchivedProfile:
    """A profile of an archive, and its place there."""

    place: Place
    profile: OpenClawProfile


def is_credential_store(path: str) -> bool:
    """Return whether a file of an archive is a store of credentials."""
    return openclaw_auth_profiles.is_profile_file(path) or path.startswith(f"{openclaw_paths.DATABASES}auth/")


def plan_credential_deliveries(
    installation: Installation, files: Mapping[str, bytes], left_out: Mapping[Place, Reason], now: str
) -> list[CredentialDelivery]:
    """Return the deliveries in the order in which they have to run. A file of an older release that waits to be
    imported blocks its providers."""
    there = _stored(installation)
    wanted = [each for path, data in sorted(files.items()) for each in _profiles_of(path, data)]
    done: list[CredentialDelivery] = []
    legacy: dict[str, list[_ArchivedProfile]] = {}
    for each in _once(wanted):
        is_there = _is_same(
            there.profiles.get(openclaw_auth_profiles.migrated_profile_id(each.profile.id)), each.profile.credential
        )
        reason = left_out.get(each.place) or (None if is_there else _reason(installation, each.profile, there, now))
        if reason or is_there:
            done.append(CredentialDelivery(_named(each), _where(each.profile), reason))
            continue
        pasted = None if there.waits else _pasted(installation, each, now)
        if pasted is not None:
            done.append(pasted)
        else:
            legacy.setdefault(_owner(installation, each.profile), []).append(each)
    done += _store_imports(installation, files.get(openclaw_paths.STORED_SECRETS, b""), left_out, there)
    done += _taken_over(installation, legacy, now)
    return [*done, *_orders(installation, files.get(openclaw_paths.AUTH_ORDER, b""), there)]


def _profiles_of(path: str, data: bytes) -> Iterator[_ArchivedProfile]:
    try:
        found = openclaw_auth_profiles.profiles_in(path, data)
    except ValueError:
        return
    for number, profile in enumerate(found):
        yield _ArchivedProfile(
            (path, ("profiles", profile.id) if openclaw_auth_profiles.is_profile_file(path) else (number,)), profile
        )


def _once(wanted: Iterable[_ArchivedProfile]) -> list[_ArchivedProfile]:
    """Drop a file of an older release when the rows that were made from it are there too."""
    found: dict[tuple[str, str], _ArchivedProfile] = {}
    for each in sorted(wanted, key=lambda each: openclaw_auth_profiles.is_profile_file(each.place[0]), reverse=True):
        found[each.profile.store, each.profile.id] = each
    return sorted(found.values(), key=lambda each: (each.profile.store, each.profile.id))


@dataclass(frozen=True, slots=True)
class _StoredCredentials:
    """The content of the stores: profiles by id, with an agent's own before the shared ones, secrets by name, and the
    (store, provider) pairs that have an order of profiles. `waits` says that a file of an older release is there, which
    blocks every command. `problem` says why the stores cannot be read, None when they can."""

    profiles: dict[str, JsonObject]
    secrets: JsonObject
    ordered: frozenset[tuple[str, str]] = frozenset()
    waits: bool = False
    problem: Reason | None = None


def _stored(installation: Installation) -> _StoredCredentials:
    waiting = list(_waiting(installation))
    try:
        rows = list(openclaw_databases.read_stored_credentials(installation))
    except AdapterError:
        return _StoredCredentials(
            {}, {}, waits=bool(waiting), problem=Reason(CredentialRefusal.STORE_UNREADABLE, runtime=RUNTIME)
        )
    listed = [row.values for row in rows if row.path == openclaw_paths.AUTH_PROFILES]
    found = {profile.id: profile.credential for profile in waiting}
    for row in sorted(listed, key=lambda row: row.get("store") == AGENT):
        found[str(row.get("id"))] = row["credential"]
    secrets = {
        str(row.values.get("name")): row.values.get("value")
        for row in rows
        if row.path == openclaw_paths.STORED_SECRETS
    }
    ordered = frozenset(_order_of(row.values) for row in rows if row.path == openclaw_paths.AUTH_ORDER)
    return _StoredCredentials(found, secrets, ordered, bool(waiting))


def _waiting(installation: Installation) -> Iterator[OpenClawProfile]:
    """Return the profiles in files of an older release that were not imported yet."""
    folder = (installation.state_dir or installation.workspace) / "agents"
    for path in sorted(folder.glob(f"*/agent/{_FILE}")):
        try:
            yield from openclaw_auth_profiles.parse_profile_file(read_small(path, installation.grounds))
        except (OSError, ValueError):
            continue


def _reason(installation: Installation, profile: OpenClawProfile, there: _StoredCredentials, now: str) -> Reason | None:
    kept = reason_to_keep(
        there.profiles.get(openclaw_auth_profiles.migrated_profile_id(profile.id)), profile.credential, now
    )
    if kept or there.problem:
        return kept or there.problem
    if not is_usable(profile.credential, now):
        return Reason(CredentialRefusal.EXPIRED if profile.expires_at else CredentialRefusal.EMPTY)
    return None if installation.program is not None else NO_PROGRAM


def _is_same(found: JsonObject | None, wanted: JsonObject) -> bool:
    """Return whether a stored credential is the wanted one. The expiry is passed to the program as a duration, so it
    may differ slightly."""
    return found is not None and {**found, "expires": None} == {**wanted, "expires": None}


def _where(profile: OpenClawProfile) -> str:
    return (
        "OpenClaw's credential store for all agents"
        if profile.store == SHARED
        else "OpenClaw's credential store for this agent"
    )


def _named(*wanted: _ArchivedProfile) -> dict[Place, str]:
    return {each.place: openclaw_auth_profiles.migrated_profile_id(each.profile.id) for each in wanted}


def _owner(installation: Installation, profile: OpenClawProfile) -> str:
    """Return the agent through which a store is written. The shared store is written through the default agent."""
    if profile.store == AGENT:
        return installation.native_id
    try:
        values = openclaw_config.read_config_or_backup(installation.config) if installation.config is not None else {}
    except AdapterError:
        return installation.native_id
    named = openclaw_config.get_nested_text(values, "agents", "defaults", "systemAgent", "agentId")
    known = openclaw_config.list_openclaw_agents(values) if values else []
    owner = named or (known[0].id if known else installation.native_id)
    # The provider becomes part of the path of a file with secrets.
    return owner if Path(owner).name == owner else installation.native_id


# Keys and tokens ---------------------------------------------------------------------------------------------------


def _pasted(installation: Installation, wanted: _ArchivedProfile, now: str) -> CredentialDelivery | None:
    """Return the delivery of a key or token by one command, None for a profile that no command accepts."""
    profile, credential = wanted.profile, wanted.profile.credential
    if credential.get("type") == "api_key" and _is_plain(credential, "key"):
        return _paste(installation, wanted, "paste-api-key", [], str(credential["key"]))
    if credential.get("type") == "token" and _is_plain(credential, "token"):
        token = str(credential["token"])
        if profile.provider != "anthropic" or token.startswith(_SETUP_TOKEN):
            return _paste(installation, wanted, "paste-token", _expiry(profile, now), token)
    return None


def _is_plain(credential: JsonObject, name: str) -> bool:
    """Return whether a profile has a value and only fields that the commands store."""
    extra = credential.keys() - {"type", "provider", "expires", name}
    value = credential.get(name)
    return isinstance(value, str) and value == value.strip() != "" and "\n" not in value and not extra


def _expiry(profile: OpenClawProfile, now: str) -> list[str]:
    if profile.expires_at is None:
        return []
    left = times.parse_time(profile.expires_at) - times.parse_time(now)
    return ["--expires-in", f"{max(1, left // timedelta(seconds=1))}s"]


def _paste(
    installation: Installation, wanted: _ArchivedProfile, command: str, more: list[str], value: str
) -> CredentialDelivery:
    profile = wanted.profile
    words = ["models", "auth", command, "--provider", profile.provider, "--profile-id", profile.id, *more]
    words += ["--agent", _owner(installation, profile)]
    return _command(installation, _named(wanted), _where(profile), words, value.encode())


def _command(
    installation: Installation, places: Mapping[Place, str], where: str, words: list[str], given: bytes | None = None
) -> CredentialDelivery:
    command, environment = openclaw_command(installation, words)
    return CredentialDelivery(
        places, where, None, command, environment, given, find_undelivered=find_undelivered_credentials
    )


def openclaw_command(installation: Installation, words: list[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return a command of the program, and the variables that select this installation."""
    environment = {"OPENCLAW_STATE_DIR": str(installation.state_dir)}
    if installation.config is not None and installation.config.parent != installation.state_dir:
        environment["OPENCLAW_CONFIG_PATH"] = str(installation.config)
    return (str(installation.program), *words), environment


# Logins and references ---------------------------------------------------------------------------------------------


def _taken_over(
    installation: Installation, legacy: Mapping[str, list[_ArchivedProfile]], now: str
) -> Iterator[CredentialDelivery]:
    """Deliver profiles that can only be imported from the file of an older release: one file for each agent, one repair
    for all."""
    if not legacy or installation.state_dir is None:
        return
    places = _named(*(each for listed in legacy.values() for each in listed))
    files = [_legacy_file(installation.state_dir, owner, listed, now) for owner, listed in sorted(legacy.items())]
    repair = _command(installation, places, "OpenClaw's store", ["doctor", "--fix", "--non-interactive"])
    yield replace(repair, files=tuple(files), leftovers=(f"{_FILE}.migrated-*",), timeout_seconds=300.0)


def _legacy_file(state_dir: Path, owner: str, listed: list[_ArchivedProfile], now: str) -> tuple[Path, bytes]:
    """Return the file of an older release, merged with one that already waits there."""
    path = state_dir / "agents" / owner / "agent" / _FILE
    try:
        found: bytes | None = read_small(path, state_dir)
    except OSError:
        found = None
    try:
        return path, merge_openclaw_profiles(found, [each.profile for each in listed], now).data
    except ValueError:
        return path, merge_openclaw_profiles(None, [each.profile for each in listed], now).data


# The order of profiles ---------------------------------------------------------------------------------------------


def _orders(installation: Installation, data: bytes, there: _StoredCredentials) -> Iterator[CredentialDelivery]:
    """Deliver the order of profiles for providers that have none yet. These come last, because they name profiles."""
    for number, row in enumerate(iter_table_rows(data)):
        store, provider = _order_of(row)
        ids = [id for id in row.get("ids") or () if isinstance(id, str) and id and not id.startswith("-")]
        if not ids or not provider or (store, provider) in there.ordered or there.problem or not installation.program:
            continue
        owner = (
            installation.native_id if store == AGENT else _owner(installation, OpenClawProfile(SHARED, provider, {}))
        )
        words = ["models", "auth", "order", "set", "--provider", provider, "--agent", owner, *ids]
        yield _command(
            installation, {(openclaw_paths.AUTH_ORDER, (number,)): provider}, "the order of the auth profiles", words
        )


def _order_of(row: JsonObject) -> tuple[str, str]:
    return str(row.get("store") or ""), str(row.get("provider") or "")


# The secret store --------------------------------------------------------------------------------------------------


def _store_imports(
    installation: Installation, data: bytes, left_out: Mapping[Place, Reason], there: _StoredCredentials
) -> Iterator[CredentialDelivery]:
    """Deliver entries of the secret store, with one command for each kind."""
    by_kind: dict[str, dict[Place, tuple[str, bytes]]] = {}
    for number, row in enumerate(iter_table_rows(data)):
        place: Place = (openclaw_paths.STORED_SECRETS, (number,))
        name = str(row.get("name"))
        line = dotenv_line(name, row.get("value"))
        is_there = name in there.secrets and there.secrets[name] == row.get("value")
        reason = left_out.get(place) or (None if is_there else _reason_of_entry(installation, row, there, line))
        if reason or is_there or line is None:
            yield CredentialDelivery({place: name}, _SECRET_STORE, reason)
        else:
            by_kind.setdefault("env" if row.get("kind") == "env" else "secret", {})[place] = name, line
    for kind, entries in sorted(by_kind.items()):
        words = ["secrets", "store", "import", "--from", "-", "--yes", "--kind", kind]
        given = b"".join(line for _, line in entries.values())
        yield _command(installation, {place: name for place, (name, _) in entries.items()}, _SECRET_STORE, words, given)


def _reason_of_entry(
    installation: Installation, row: JsonObject, there: _StoredCredentials, line: bytes | None
) -> Reason | None:
    if row.get("scope_kind", "team") != "team":
        return Reason(CredentialRefusal.ONE_IDENTITY, runtime=RUNTIME)
    if str(row.get("name")) in there.secrets or there.problem:
        return there.problem or KEPT
    if line is None:
        return Reason(CredentialRefusal.NOT_SPELLED)
    return None if installation.program is not None else NO_PROGRAM


# Afterwards --------------------------------------------------------------------------------------------------------


def find_undelivered_credentials(installation: Installation, delivery: CredentialDelivery) -> dict[Place, Reason]:
    """Return the delivered places that are not in the stores now, each with the reason."""
    there = _stored(installation)
    found = {place: there.problem or _missing(place, name, there) for place, name in delivery.places.items()}
    return {place: reason for place, reason in found.items() if reason}


def _missing(place: Place, name: str, there: _StoredCredentials) -> Reason | None:
    if place[0] == openclaw_paths.AUTH_ORDER:
        return None if any(provider == name for _, provider in there.ordered) else NOT_TAKEN
    if place[0] == openclaw_paths.STORED_SECRETS:
        return None if name in there.secrets else NOT_TAKEN
    credential = there.profiles.get(name)
    if credential is None:
        return NOT_TAKEN
    is_refreshed = all(is_live_token(str(credential.get(key, "?"))) for key in ("access", "refresh"))
    return None if is_refreshed else Reason(CredentialRefusal.NOT_REFRESHED, runtime=RUNTIME)
