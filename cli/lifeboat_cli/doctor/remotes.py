"""Second copies as this home knows them. Nobody is asked: `lifeboat doctor --remote NAME` does that."""

from __future__ import annotations

import stat
from collections.abc import Iterator

from lifeboat_alf import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.health import due
from lifeboat_core.health.second_copies import DAMAGED, FORGOT
from lifeboat_core.health.standing import ERROR, FENCED, HELD, OK, WAITING
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged, registry
from lifeboat_core.remotes.acknowledged import Acknowledged, damage_words
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts.words import age_text, argument

TITLE = "Second copies"
_TRIES = 5
"""A remote that could not be reached so often in a row is worth a word."""


def check(context: Context) -> Iterator[Finding]:
    for config in registry.everyone(context):
        if config.problem is not None:
            fix = f"lifeboat remote remove {argument(config.name)}"
            yield Finding(Level.ERROR, config.name, f"{config.problem}: it gets nothing", fix)
            continue
        yield from _token(context, config)
        yield from _agents(context, config)


def _token(context: Context, config: RemoteConfig) -> Iterator[Finding]:
    path = registry.token_file(context, config.name)
    fix = f"lifeboat remote token {argument(config.name)} --token-stdin"
    try:
        found = context.files.lstat(path)
    except FileNotFoundError:
        if config.url.startswith("http"):
            yield Finding(Level.ERROR, config.name, "no token is kept for it: it lets this machine in no more", fix)
        return
    if not stat.S_ISREG(found.st_mode):
        yield Finding(Level.ERROR, config.name, "its token is no file of its own", fix)


def _agents(context: Context, config: RemoteConfig) -> Iterator[Finding]:
    for agent in everyone(context):
        try:
            with context.vault(agent.id) as vault:
                known = acknowledged.read(vault).get(config.id)
        except LifeboatError:
            continue  # the check of vaults tells
        subject = f"{config.name}, {agent.name}"
        if known is not None:
            yield _standing(context, config, subject, agent.name, known)
            yield from _drilled(context, config, subject, agent, known)
        elif agent.watched:
            fix = f"lifeboat sync {argument(agent.name)}"
            yield Finding(Level.WARNING, subject, "nothing of it was sent there yet", fix)


def _standing(context: Context, config: RemoteConfig, subject: str, agent: str, known: Acknowledged) -> Finding:
    fix = f"lifeboat doctor --remote {argument(config.name)}"
    if known.damaged:
        fix = f"lifeboat sync {argument(agent)}"
    if known.drill_failed:
        fix = f"lifeboat verify {argument(agent)} --remote {argument(config.name)}"
    message = known.message or "it is not up to date"
    if known.state == ERROR and known.code == DAMAGED and known.damaged:
        message = damage_words(known)
    if known.state == FENCED:
        return Finding(Level.ERROR, subject, message, f"lifeboat agents adopt {argument(agent)}")
    if known.state == HELD:
        return Finding(Level.WARNING, subject, message, f"lifeboat agents accept {argument(agent)}")
    if known.state == ERROR and known.code == FORGOT:
        return Finding(Level.ERROR, subject, message, f"lifeboat remote remove {argument(config.name)}")
    if known.state == ERROR:
        return Finding(Level.ERROR, subject, message, fix)
    if known.state == WAITING and known.tries >= _TRIES and not config.optional:
        return Finding(Level.WARNING, subject, f"{known.tries} tries in a row came to nothing: {message}", fix)
    if known.state not in (OK, WAITING) or known.verified_at is None:
        return Finding(Level.OK, subject, message if known.message else "it was not read back yet")
    age = (context.clock.now() - times.parse(known.verified_at)).total_seconds()
    return Finding(Level.OK, subject, f"sequence {known.verified_number} was read back {age_text(age)} ago")


def _drilled(
    context: Context, config: RemoteConfig, subject: str, agent: Agent, known: Acknowledged
) -> Iterator[Finding]:
    """Whether a restore from it was tried out: that needs the user's key where the remote is sealed."""
    if known.number is None or known.drill_failed:
        return
    every, now = float(context.setting("verify.whole_every", agent)), context.clock.now()
    if due.is_past(known.drilled_at or agent.added_at or None, every + due.LONGEST_DEFERRED, now):
        fix = f"lifeboat verify {argument(agent.name)} --remote {argument(config.name)}"
        yield Finding(Level.WARNING, subject, "a restore from it was not tried out for more than a month", fix)
    elif known.drilled_at is not None:
        age = (now - times.parse(known.drilled_at)).total_seconds()
        yield Finding(Level.OK, subject, f"it was restored from aside {age_text(age)} ago, every byte compared")
