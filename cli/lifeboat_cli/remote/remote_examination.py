"""Examine a remote for `lifeboat doctor --remote`: reachability, identity, token, clock and free space."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from lifeboat_alf.common import times
from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import ReplicationError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_kinds, remote_probe, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.manage_remotes import note_findings
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.remote_probe import ProbeResult, RemoteCandidate
from lifeboat_core.texts.human_text import age_text, count_text, quote_argument, time_text
from lifeboat_vault.errors import RemoteError

CLOCK = timedelta(minutes=5)
"""A larger difference between two clocks is a finding: what is valid for minutes can be expired when it arrives."""
SOON = timedelta(days=14)
FULL = 0.9
"""The share of used space from which on it is a finding."""


def examine_remote(context: Context, config: RemoteConfig) -> Iterator[DoctorFinding]:
    """Ask the remote and yield what is found. Raises nothing: a failure is a finding."""
    try:
        stranger = RemoteCandidate(config, remote_registry.load_token(context, config.name))
        met = remote_probe.probe_remote(context, stranger)
    except LifeboatError as error:
        yield DoctorFinding(DoctorLevel.ERROR, config.url, f"{error.title}: {error.message}", _fix(error))
        return
    yield DoctorFinding(DoctorLevel.OK, config.url, f"the remote is reachable{_release(met)}{_believed(config)}")
    yield _identity(config, met)
    yield from _clock(met)
    yield from _store(context, config, met, stranger.token)
    yield from _token(context, config, met)
    yield from _room(context, config, met)


def _fix(error: LifeboatError) -> str | None:
    """Return what helps against an error; None if that is the command that found it."""
    defined_by = next(kind for kind in type(error).__mro__ if "fix" in vars(kind))
    return None if "fix" not in vars(error) and defined_by in (RemoteError, ReplicationError) else error.fix


def _release(met: ProbeResult) -> str:
    return f" (release {met.about.release})" if met.about.release else ""


def _believed(config: RemoteConfig) -> str:
    trust = remote_kinds.find_kind(config.url).describe_trust(config)
    return f", and {trust}" if trust else ""


def _identity(config: RemoteConfig, met: ProbeResult) -> DoctorFinding:
    if config.id == met.about.id:
        return DoctorFinding(
            DoctorLevel.OK, "identity", "the remote has the identity that was stored when it was added"
        )
    result = (
        f"the identity of this remote is {met.about.id}, but {config.name} had the identity {config.id} when it "
        "was added, so no data is sent to it"
    )
    return DoctorFinding(
        DoctorLevel.ERROR, "identity", result, f"lifeboat remote remove {quote_argument(config.name)} --keep-token"
    )


def _clock(met: ProbeResult) -> Iterator[DoctorFinding]:
    if met.clock is None:
        return
    if abs(met.clock) <= CLOCK.total_seconds():
        yield DoctorFinding(DoctorLevel.OK, "clock", "the clocks of this machine and of the remote agree")
        return
    which = "ahead of" if met.clock > 0 else "behind"
    yield DoctorFinding(
        DoctorLevel.WARNING,
        "clock",
        f"the clock of the remote is {age_text(abs(met.clock))} {which} the clock of this machine",
    )


def _store(context: Context, config: RemoteConfig, met: ProbeResult, token: str | None) -> Iterator[DoctorFinding]:
    kind, found = remote_kinds.find_kind(config.url), note_findings(config, met)
    access = kind.describe_access(context, config, token)
    if access:
        yield DoctorFinding(DoctorLevel.OK, "access", access)
    if config.writers and config.writers != found.writers:
        result = f"the store supports less than when the remote was added. {' '.join(kind.describe_limits(found))}"
        yield DoctorFinding(DoctorLevel.WARNING, "store", result, f"lifeboat remote test {quote_argument(config.name)}")
        return
    for sentence in kind.describe_store(found):
        is_limit = found.keeps_versions and sentence in kind.describe_limits(replace(found, writers=""))
        yield DoctorFinding(DoctorLevel.WARNING if is_limit else DoctorLevel.OK, "store", sentence)


def _token(context: Context, config: RemoteConfig, met: ProbeResult) -> Iterator[DoctorFinding]:
    if met.token is None:
        return
    fix = f"lifeboat remote token {quote_argument(config.name)} --token-stdin"
    yield DoctorFinding(DoctorLevel.OK, "token", f"the token permits {' and '.join(sorted(met.scopes))}")
    if met.superfluous:
        result = f"the token permits more than this machine needs: {', '.join(met.superfluous)}"
        yield DoctorFinding(DoctorLevel.WARNING, "token", result, fix)
    if met.expires_at is None:
        return
    with contextlib.suppress(ValueError, OverflowError):
        if times.parse_time(met.expires_at) - context.clock.now() < SOON:
            yield DoctorFinding(DoctorLevel.WARNING, "token", f"the token expires on {time_text(met.expires_at)}", fix)


def _room(context: Context, config: RemoteConfig, met: ProbeResult) -> Iterator[DoctorFinding]:
    try:
        with contextlib.closing(open_remote(context, config)) as remote:
            agents = remote.agents()
    except LifeboatError as error:
        yield DoctorFinding(DoctorLevel.ERROR, "agents", f"{error.title}: {error.message}", _fix(error))
        return
    used, limit = sum(agent.bytes for agent in agents), met.room
    takes = f"{count_text(len(agents), 'agent')}, {size_text(used)}"
    if limit is None:
        yield DoctorFinding(DoctorLevel.OK, "room", takes)
        return
    level = DoctorLevel.WARNING if used > FULL * limit else DoctorLevel.OK
    yield DoctorFinding(level, "room", f"{takes} of {size_text(limit)}")
