"""A second copy examined for `lifeboat doctor --remote`: whether it answers, who it is, what it thinks of the token,
its clock, and the room it has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta

from lifeboat_alf import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.findings import Finding, Level
from lifeboat_core.errors import ReplicationError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import registry, trying
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.opening import open_remote
from lifeboat_core.remotes.trying import Met, Stranger
from lifeboat_core.texts.words import age_text, argument, count_text, size_text, time_text
from lifeboat_vault.errors import RemoteError

CLOCK = timedelta(minutes=5)
"""Clocks that differ by more are worth a word: what is valid for minutes may count no more when it arrives."""
SOON = timedelta(days=14)
FULL = 0.9
"""The share of the room from which on it is worth a word."""


def examine(context: Context, config: RemoteConfig) -> Iterator[Finding]:
    """Ask it, and say what is found. Raises nothing: what fails is a finding."""
    stranger = Stranger(config, registry.token(context, config.name))
    try:
        met = trying.meet(context, stranger)
    except LifeboatError as error:
        yield Finding(Level.ERROR, config.url, f"{error.title}: {error.message}", _fix(error))
        return
    yield Finding(Level.OK, config.url, f"it answers{_release(met)}{_believed(config)}")
    yield _identity(config, met)
    yield from _clock(met)
    yield from _token(context, config, met)
    yield from _room(context, config, met)


def _fix(error: LifeboatError) -> str | None:
    """Return what helps against an error; None where that is the command that found it."""
    defined_by = next(kind for kind in type(error).__mro__ if "fix" in vars(kind))
    return None if "fix" not in vars(error) and defined_by in (RemoteError, ReplicationError) else error.fix


def _release(met: Met) -> str:
    return f" (release {met.about.release})" if met.about.release else ""


def _believed(config: RemoteConfig) -> str:
    if not config.url.startswith("https:"):
        return ""
    return (
        ", and its pinned authority vouches for it" if config.pin else ", and an authority of the system vouches for it"
    )


def _identity(config: RemoteConfig, met: Met) -> Finding:
    if config.id == met.about.id:
        return Finding(Level.OK, "identity", "it is the second copy that was added")
    result = f"another vault answers: {met.about.id}, and {config.name} is {config.id}. Nothing is sent there"
    return Finding(Level.ERROR, "identity", result, f"lifeboat remote remove {argument(config.name)} --keep-token")


def _clock(met: Met) -> Iterator[Finding]:
    if met.clock is None:
        return
    if abs(met.clock) <= CLOCK.total_seconds():
        yield Finding(Level.OK, "clock", "its clock and the one here agree")
        return
    which = "ahead of" if met.clock > 0 else "behind"
    yield Finding(Level.WARNING, "clock", f"its clock is {age_text(abs(met.clock))} {which} the one here")


def _token(context: Context, config: RemoteConfig, met: Met) -> Iterator[Finding]:
    if met.token is None:
        return
    fix = f"lifeboat remote token {argument(config.name)} --token-stdin"
    yield Finding(Level.OK, "token", f"it allows to {' and '.join(sorted(met.scopes))}")
    if met.superfluous:
        result = f"it allows more than this machine needs: {', '.join(met.superfluous)}"
        yield Finding(Level.WARNING, "token", result, fix)
    if met.expires_at is None:
        return
    with contextlib.suppress(ValueError, OverflowError):
        if times.parse(met.expires_at) - context.clock.now() < SOON:
            yield Finding(Level.WARNING, "token", f"it ends on {time_text(met.expires_at)}", fix)


def _room(context: Context, config: RemoteConfig, met: Met) -> Iterator[Finding]:
    try:
        with contextlib.closing(open_remote(context, config)) as remote:
            agents = remote.agents()
    except LifeboatError as error:
        yield Finding(Level.ERROR, "agents", f"{error.title}: {error.message}", _fix(error))
        return
    used, limit = sum(agent.bytes for agent in agents), met.room
    takes = f"{count_text(len(agents), 'agent')}, {size_text(used)}"
    if limit is None:
        yield Finding(Level.OK, "room", takes)
        return
    level = Level.WARNING if used > FULL * limit else Level.OK
    yield Finding(level, "room", f"{takes} of {size_text(limit)}")
