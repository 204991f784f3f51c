"""Check remotes as far as this home knows them. None is contacted: `lifeboat doctor --remote NAME` does that."""

from __future__ import annotations

import stat
from collections.abc import Iterator

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.health import due_checks
from lifeboat_core.health.agent_status import ERROR, FENCED, HELD, OK, WAITING
from lifeboat_core.health.remote_health import DAMAGED, FORGOT
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import (
    acknowledged_states,
    arrange_credentials,
    remote_kinds,
    remote_registry,
    stored_credentials,
)
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState, describe_damage
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_core.texts.human_text import age_text, quote_argument
from lifeboat_vault.errors import RemoteDenied

TITLE = "Remotes"
_TRIES = 5
"""The number of consecutive failures after which an unreachable remote is reported."""


def check(context: Context) -> Iterator[DoctorFinding]:
    for config in remote_registry.list_remotes(context):
        problem = remote_kinds.find_problem(config)
        if problem is not None:
            fix = f"lifeboat remote remove {quote_argument(config.name)}"
            yield DoctorFinding(
                DoctorLevel.ERROR, config.name, f"{problem}, so no sequence is pushed to this remote", fix
            )
            continue
        kind = remote_kinds.find_kind(config.url)
        missing = kind.find_missing_program(context)
        if missing is not None:
            yield DoctorFinding(DoctorLevel.ERROR, config.name, *missing)
        yield from _token(context, config, kind)
        yield from _misplaced(context, config)
        yield from _agents(context, config)


def _token(context: Context, config: RemoteConfig, kind: RemoteKind) -> Iterator[DoctorFinding]:
    path = remote_registry.locate_token_file(context, config.name)
    fix = f"lifeboat remote token {quote_argument(config.name)} --token-stdin"
    try:
        found = context.files.lstat(path)
    except FileNotFoundError:
        if kind.needs_token or kind.needs_credentials:
            what = "credentials" if kind.needs_credentials else "access token"
            verb = "are" if kind.needs_credentials else "is"
            yield DoctorFinding(
                DoctorLevel.ERROR,
                config.name,
                f"the {what} of this remote {verb} missing, so this machine cannot use the remote",
                fix,
            )
        return
    if not stat.S_ISREG(found.st_mode):
        yield DoctorFinding(
            DoctorLevel.ERROR, config.name, "the access token of this remote must be a regular file, but is not", fix
        )


def _misplaced(context: Context, config: RemoteConfig) -> Iterator[DoctorFinding]:
    try:
        is_misplaced = config in arrange_credentials.list_misplaced(context)
        is_keyring_used = is_misplaced and stored_credentials.is_keyring_used(context)
    except (LifeboatError, OSError):
        return  # The checks of the key and of permissions report it.
    if is_misplaced:
        told = (
            "the credentials of this remote are in a file, although your key is in the OS keyring"
            if is_keyring_used
            else "the credentials of this remote are in the OS keyring, although your key is in another store"
        )
        store = str(context.keys().store)
        yield DoctorFinding(DoctorLevel.WARNING, config.name, told, f"lifeboat keys init --store {store}")


def _agents(context: Context, config: RemoteConfig) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        try:
            with context.vault(agent.id) as vault:
                known = acknowledged_states.load_acknowledged(vault).get(config.id)
        except LifeboatError:
            continue  # The check of vaults reports it.
        subject = f"{config.name}, {agent.name}"
        if known is not None:
            yield _standing(context, config, subject, agent.name, known)
            yield from _drilled(context, config, subject, agent, known)
        elif agent.watched:
            fix = f"lifeboat sync {quote_argument(agent.name)}"
            yield DoctorFinding(DoctorLevel.WARNING, subject, "no sequence was pushed to this remote yet", fix)


def _standing(
    context: Context, config: RemoteConfig, subject: str, agent: str, known: AcknowledgedState
) -> DoctorFinding:
    fix = f"lifeboat doctor --remote {quote_argument(config.name)}"
    if known.damaged:
        fix = f"lifeboat sync {quote_argument(agent)}"
    if known.drill_failed:
        fix = f"lifeboat verify {quote_argument(agent)} --remote {quote_argument(config.name)}"
    message = known.message or "the remote does not have the newest sequence"
    if known.state == ERROR and known.code == DAMAGED and known.damaged:
        message = describe_damage(known)
    if known.state == FENCED:
        return DoctorFinding(DoctorLevel.ERROR, subject, message, f"lifeboat agents adopt {quote_argument(agent)}")
    if known.state == HELD:
        return DoctorFinding(DoctorLevel.WARNING, subject, message, f"lifeboat agents accept {quote_argument(agent)}")
    if known.state == ERROR and known.code == FORGOT:
        return DoctorFinding(
            DoctorLevel.ERROR, subject, message, f"lifeboat remote remove {quote_argument(config.name)}"
        )
    if known.state == ERROR and known.code == RemoteDenied.code and _has_token(config):
        return DoctorFinding(
            DoctorLevel.ERROR, subject, message, f"lifeboat remote token {quote_argument(config.name)}"
        )
    if known.state == ERROR:
        return DoctorFinding(DoctorLevel.ERROR, subject, message, fix)
    if known.state == WAITING and known.tries >= _TRIES and not config.optional:
        return DoctorFinding(DoctorLevel.WARNING, subject, f"the last {known.tries} pushes failed: {message}", fix)
    if known.state not in (OK, WAITING) or known.verified_at is None:
        return DoctorFinding(
            DoctorLevel.OK, subject, message if known.message else "the data on this remote is not verified yet"
        )
    age = (context.clock.now() - times.parse_time(known.verified_at)).total_seconds()
    return DoctorFinding(
        DoctorLevel.OK,
        subject,
        f"the data on this remote was verified up to sequence {known.verified_number}, {age_text(age)} ago",
    )


def _has_token(config: RemoteConfig) -> bool:
    kind = remote_kinds.find_kind(config.url)
    return kind.needs_token or kind.signs_requests


def _drilled(
    context: Context, config: RemoteConfig, subject: str, agent: Agent, known: AcknowledgedState
) -> Iterator[DoctorFinding]:
    """Return whether a restore drill from it was made. A sealed remote needs the user's key for that."""
    if known.number is None or known.drill_failed:
        return
    every, now = float(context.setting("verify.whole_every", agent)), context.clock.now()
    if due_checks.is_past(known.drilled_at or agent.added_at or None, every + due_checks.LONGEST_DEFERRED, now):
        fix = f"lifeboat verify {quote_argument(agent.name)} --remote {quote_argument(config.name)}"
        yield DoctorFinding(
            DoctorLevel.WARNING,
            subject,
            "the last test restore from this remote was more than a month ago, or there was none",
            fix,
        )
    elif known.drilled_at is not None:
        age = (now - times.parse_time(known.drilled_at)).total_seconds()
        yield DoctorFinding(
            DoctorLevel.OK, subject, f"the last test restore from this remote, {age_text(age)} ago, compared every byte"
        )
