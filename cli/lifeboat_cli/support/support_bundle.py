"""The bundle that a user sends for support: the state of the system without any user data.

Every field is a number, a time, a version, or a word of this program. No message, name or path is copied: agents are
numbered, files are counted, reasons are reported by kind. Therefore nothing has to be removed afterwards.
"""

from __future__ import annotations

import locale
import os
import platform
import re
import sqlite3
import stat
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from lifeboat_adapters.errors import AdapterError
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli import doctor
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.exchange.new_file import create_file
from lifeboat_core.health.status_gathering import AgentStatus, gather_status
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import FOLDERS, find_file_system
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.remotes import acknowledged_states, remote_kinds, remote_registry
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.settings.config_file import DEFAULT, SettingValue
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_daemon import units
from lifeboat_daemon.control import control_methods
from lifeboat_daemon.service import daemon_lifecycle, event_log_reader
from lifeboat_daemon.service.event_log import safe_field, safe_kind
from lifeboat_vault.vault import Vault

_DISTRIBUTION = "agent-lifeboat"
_NOT_TOLD, _OTHER = "(set, not shown)", "(other)"
_LAYERS = ("raw", "artifacts", "memory", "history", "lifeboat")
_OWN_WORDS = frozenset({"clock", "conditions", "copies", "disk"})
"""Checks whose results consist of words of this program and of figures only."""
_VARIABLES = ("LIFEBOAT_HOME", "LIFEBOAT_DEBUG", "LIFEBOAT_KEY_FILE", "LIFEBOAT_PASSPHRASE", "LIFEBOAT_PASSPHRASE_FILE")


@dataclass(frozen=True, slots=True)
class BundlePart:
    """One file of the bundle; `what` describes it for people."""

    name: str
    what: str
    document: JsonObject


def gather_bundle_parts(context: Context) -> list[BundlePart]:
    """Gather every file of the bundle. A file that cannot be gathered contains the error instead, so nothing is left
    out silently."""
    gathered: tuple[tuple[str, str, Callable[[Context], JsonObject]], ...] = (
        ("versions.json", "versions of Lifeboat, Python, libraries and the operating system", _versions),
        ("settings.json", "settings, without values that are free text", _settings),
        ("findings.json", "results of `lifeboat doctor`, without names", _findings),
        ("status.json", "state of each agent, with a number instead of a name", _status),
        ("sizes.json", "sizes and row counts of vaults and caches", _sizes),
        ("home.json", "number of files in the home directory, by permission", _home),
        (
            "remotes.json",
            "for each remote (a number instead of its name): its kind, and the state of each agent on it",
            _remotes,
        ),
        ("service.json", "the daemon: whether it runs, its counters, and the number of events of each kind", _service),
    )
    return [BundlePart(name, what, _or_error(gather, context)) for name, what, gather in gathered]


def write_support_bundle(context: Context, target: Path) -> list[BundlePart]:
    """Write a bundle that only its owner can read, and return its parts. Raises ExchangeError.FILE_EXISTS,
    ExchangeError."""
    with create_file(context.files, target) as stream:
        found = gather_bundle_parts(context)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in found:
                archive.writestr(part.name, json_codec.encode_pretty(part.document) + b"\n")
    return found


def _or_error(gather: Callable[[Context], JsonObject], context: Context) -> JsonObject:
    try:
        return gather(context)
    except (LifeboatError, OSError, sqlite3.Error) as error:
        return {"error": _error_word(error)}


def _error_word(error: Exception) -> str:
    """Return the kind of an error without its message, which may name a file."""
    return error.code if isinstance(error, LifeboatError) else type(error).__name__


# Versions and settings -------------------------------------------------------------------------------------------


def _versions(context: Context) -> JsonObject:
    return {
        "lifeboat": read_release(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "sqlite": sqlite3.sqlite_version,
        "libraries": dict(_libraries()),
        "system": {"name": platform.system(), "release": platform.release(), "machine": platform.machine()},
        "c_library": " ".join(platform.libc_ver()).strip(),
        "file_names": sys.getfilesystemencoding(),
        "text": locale.getpreferredencoding(False),
        "variables_set": [name for name in _VARIABLES if context.environment.get(name)],
        "bundle_made_at": context.now(),
    }


def _libraries() -> Iterator[tuple[str, str | None]]:
    for line in requires(_DISTRIBUTION) or ():
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, None


def _settings(context: Context) -> JsonObject:
    config = context.config()
    own = {
        _number(at): [_setting(value) for value in config.all(agent.settings) if value.name in agent.settings]
        for at, agent in enumerate(list_agents(context), start=1)
    }
    return {
        "file_understood": config.problem is None,
        "for_all": [_setting(value) for value in config.all()],
        "for_one_agent": {name: values for name, values in own.items() if values},
    }


def _setting(value: SettingValue) -> JsonObject:
    """Return a figure or a switch. A text may be a path or a command, so it is left out."""
    told = value.source == DEFAULT or isinstance(value.value, bool | int | float)
    return {"name": value.name, "source": value.source, "value": value.value if told else _NOT_TOLD}


# Findings and status ---------------------------------------------------------------------------------------------


def _findings(context: Context) -> JsonObject:
    numbers = {agent.name: _number(at) for at, agent in enumerate(list_agents(context), start=1)}
    return {"findings": [_finding(one, numbers) for one in doctor.run_doctor_checks(context)]}


def _finding(one: doctor.DoctorCheckResult, numbers: dict[str, str]) -> JsonObject:
    found: JsonObject = {"check": one.check, "title": one.title, "level": str(one.finding.level)}
    found["agent"] = numbers.get(one.finding.subject)
    # A check that failed has its title as its subject, and its result may contain system messages.
    own = one.check in _OWN_WORDS and one.finding.subject != one.title
    return found | ({"result": one.finding.result} if own else {})


def _status(context: Context) -> JsonObject:
    found = gather_status(context)
    return {
        "state": found.state,
        "problems": len(found.problems),
        "clock_trusted": found.clock_trusted,
        "key": {"state": str(found.key.state), "store": None if found.key.store is None else str(found.key.store)},
        "agents": {_number(at): _agent_status(context, one) for at, one in enumerate(found.agents, start=1)},
    }


def _agent_status(context: Context, one: AgentStatus) -> JsonObject:
    return {
        "runtime": _runtime(context, one.runtime),
        "state": one.state,
        "sequence": one.sequence,
        "last_captured_at": one.last_captured_at,
        "last_verified_at": one.last_verified_at,
        "pending": one.pending,
        "held": one.held is not None,
        "missing": one.missing,
        "no_room": one.no_room is not None,
        "last_capture_failed": one.failed is not None,
        "damaged": one.damaged is not None,
        "reasons": dict(sorted(Counter(one.reason_codes).items())),
        "pending_kinds": dict(sorted(one.pending_kinds.items())),
    }


def _remotes(context: Context) -> JsonObject:
    numbers = {agent.id: _number(at) for at, agent in enumerate(list_agents(context), start=1)}
    return {
        f"remote-{at}": _remote(context, config, numbers)
        for at, config in enumerate(remote_registry.list_remotes(context), start=1)
    }


def _remote(context: Context, config: RemoteConfig, numbers: Mapping[str, str]) -> JsonObject:
    return {
        "kind": remote_kinds.find_scheme(config.url),
        "usable": config.problem is None,
        "optional": config.optional,
        "sealed": config.sealed,
        "pinned": bool(config.pin),
        "has_token": remote_registry.load_stored_token(context, config.name) is not None,
        "added_at": config.added_at or None,
        "agents": {number: _standing(context, config, agent_id) for agent_id, number in numbers.items()},
    }


def _standing(context: Context, config: RemoteConfig, agent_id: str) -> JsonObject:
    try:
        with context.vault(agent_id) as vault:
            found = acknowledged_states.load_acknowledged(vault).get(config.id, AcknowledgedState())
    except LifeboatError as error:
        return {"error": error.code}
    return {
        "state": safe_kind(found.state),
        "code": safe_kind(found.code) if found.code else None,
        "sequence": found.number,
        "epoch": found.epoch,
        "at": found.at,
        "verified_sequence": found.verified_number,
        "verified_at": found.verified_at,
        "tries": found.tries,
        "tried_at": found.tried_at,
        "fenced": found.fenced is not None,
    }


def _runtime(context: Context, name: str) -> str:
    """Return the name of a runtime that this program knows. An unknown name was written by a user."""
    return name if any(adapter.runtime == name for adapter in context.adapters()) else _OTHER


# The service -----------------------------------------------------------------------------------------------------


def _service(context: Context) -> JsonObject:
    standing = daemon_lifecycle.inspect_daemon(context)
    return {
        "running": standing.running,
        "release": None if standing.release is None else safe_field(standing.release),
        "uptime": standing.uptime,
        "rss": standing.rss,
        "problem": None if standing.problem is None else _error_word(standing.problem),
        **_daemon(context, standing.told),
        "unit": _unit(context),
        "events": {
            str(safe_field(level, "level")): {safe_kind(kind): count for kind, count in kinds.items()}
            for level, kinds in event_log_reader.count_events(context.home).items()
        },
    }


def _daemon(context: Context, found: control_methods.DaemonStatus | None) -> JsonObject:
    """Return the daemon's counts, with agents by the numbers that they have in all files."""
    if found is None:
        return {"ticks": None, "watched": {}, "jobs": {}}
    numbers = {agent.id: _number(at) for at, agent in enumerate(list_agents(context), start=1)}
    watched = {
        numbers.get(one.id, _OTHER): {
            "cadence": safe_field(one.cadence, "cadence"),
            "mode": safe_field(one.mode, "mode"),
            "folders": one.folders,
            "watches": one.watches,
            "captures": one.captures,
            "failures": one.failures,
        }
        for one in found.agents
    }
    jobs = Counter(str(safe_field(job.operation, "operation")) for job in found.jobs)
    return {"ticks": found.ticks, "watched": watched, "jobs": dict(sorted(jobs.items()))}


def _unit(context: Context) -> JsonObject:
    """Return the state of the unit without its paths."""
    found = units.inspect_unit(context).to_json()
    switches = ("installed", "ours", "current", "program_found", "enabled", "running", "lingering")
    named = {name: found[name] for name in ("manager", *switches)}
    return named | {"answers": found["problem"] is None}


# Sizes and the home ----------------------------------------------------------------------------------------------


def _sizes(context: Context) -> JsonObject:
    return {
        "free_on_disk": context.files.free_space(context.home.folder),
        "agents": {_number(at): _sizes_of(context, agent) for at, agent in enumerate(list_agents(context), start=1)},
    }


def _sizes_of(context: Context, agent: Agent) -> JsonObject:
    cache = context.home.state_file(agent.id)
    found: JsonObject = {
        "runtime": _runtime(context, agent.runtime),
        "watched": agent.watched,
        "paused": agent.paused,
        "cache_bytes": cache.stat().st_size if cache.exists() else 0,
        **_around(context, agent),
    }
    try:
        with context.vault(agent.id) as vault:
            return found | _counts(vault)
    except (LifeboatError, OSError, sqlite3.Error) as error:
        return found | {"error": _error_word(error)}


def _around(context: Context, agent: Agent) -> JsonObject:
    try:
        around = context.installation(agent)
    except (AdapterError, OSError) as error:
        return {"layout": None, "runtime_error": _error_word(error)}
    return {"layout": around.layout, "own_home": around.state_dir is not None, "program": around.program is not None}


def _counts(vault: Vault) -> JsonObject:
    found: JsonObject = {"vault_bytes": vault.size(), "sequences": len(vault.sequences())}
    if not found["sequences"]:
        return found
    state = vault.state()
    kinds: Counter[str] = Counter()
    size = 0
    for entry in state.entries():
        top, slash, _ = entry.path.partition("/")
        kinds["documents" if not slash else top if top in _LAYERS else _OTHER] += 1
        size += entry.size
    return found | {
        "entries": dict(sorted(kinds.items())),
        "entry_bytes": size,
        "records": sum(1 for _ in state.records()),
        "credentials": len(load_credentials(state)),
    }


def _home(context: Context) -> JsonObject:
    counted: Counter[tuple[str, str, str]] = Counter()
    for place, path in _below(context.home.folder):
        try:
            found = path.lstat()
        except FileNotFoundError:  # The daemon may change files meanwhile.
            continue
        counted[place, stat.filemode(found.st_mode), _owner(found)] += 1
    return {
        "file_system": find_file_system(context.home.folder),
        "chosen_by_variable": bool(context.environment.get("LIFEBOAT_HOME")),
        "files": [
            {"folder": place, "rights": rights, "owner": owner, "count": count}
            for (place, rights, owner), count in sorted(counted.items())
        ],
    }


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every path with the top-level folder of the home that contains it, without names that are not this
    program's own."""
    yield ".", folder
    for parent, folders, names in os.walk(folder):
        top = Path(parent).relative_to(folder).parts[:1]
        place = top[0] if top and top[0] in (*FOLDERS, "backups", "remotes") else "." if not top else _OTHER
        for name in (*folders, *names):
            yield place, Path(parent) / name


def _owner(found: os.stat_result) -> str:
    return "this user" if os.name != "posix" or found.st_uid == os.geteuid() else "another user"


def _number(at: int) -> str:
    return f"agent-{at}"
