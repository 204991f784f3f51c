"""The user's permission for an agent to read its own past and to make proposals (`lifeboat agents grant`)."""

from __future__ import annotations

import uuid
from datetime import timedelta

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import GrantError
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument, time_text
from lifeboat_vault.vault import Vault

DECISION = "grant"
GIVEN, REVOKED = "granted", "grant_revoked"
"""Kinds of audit rows."""
OWN_EDIT_AGE = timedelta(minutes=15)
"""The age up to which a grant may let an agent undo its own edits without a question."""


class Grant(msgspec.Struct, frozen=True, omit_defaults=True):
    """A grant as it is stored. Times are timestamps; `expires_at` is None for no end. `undo_own`: the agent may undo
    its own edits of the last 15 minutes without a question."""

    id: str
    given_at: str
    expires_at: str | None = None
    undo_own: bool = False

    def is_expired(self, now: str) -> bool:
        """Return whether the grant has ended, or the clock is before its beginning, when its end cannot be judged."""
        if self.expires_at is None:
            return False
        return now >= self.expires_at or times.parse_time(now) < times.parse_time(self.given_at) - timedelta(days=1)

    def to_json(self, now: str) -> JsonObject:
        """Return what `agents grant`, `agents show` and `status` write."""
        return {
            "given_at": self.given_at,
            "expires_at": self.expires_at,
            "expired": self.is_expired(now),
            "undo_own": self.undo_own,
        }


def read_grant(vault: Vault) -> Grant | None:
    """Return the grant of an agent, also an expired one; None if there is none or it cannot be understood."""
    try:
        return msgspec.convert(vault.get(DECISION), Grant)
    except msgspec.ValidationError:
        return None


def give_grant(context: Context, agent: Agent, *, seconds: int | None = None, undo_own: bool = False) -> Grant:
    """Give an agent a new grant in place of any earlier one, which ends servers that run under that one.

    `seconds` is how long it lasts, None for no end. Raises what opening the vault raises.
    """
    now = context.clock.now()
    end = None if seconds is None else times.to_text(now + timedelta(seconds=seconds))
    grant = Grant(str(uuid.uuid4()), times.to_text(now), end, undo_own)
    with context.vault(agent.id) as vault:
        vault.set(DECISION, msgspec.to_builtins(grant), kind=GIVEN)
    return grant


def revoke_grant(context: Context, agent: Agent) -> bool:
    """End a grant; the next call of a running server is refused. Return whether there was one."""
    with context.vault(agent.id) as vault:
        had = vault.get(DECISION) is not None
        if had:
            vault.set(DECISION, None, kind=REVOKED)
        return had


def check_grant(vault: Vault, agent_name: str, now: str, grant_id: str | None = None) -> Grant:
    """Return the grant in force. `grant_id`: only this grant, not one that was given later.

    Raises GrantError.NOT_GRANTED, GrantError.GRANT_ENDED.
    """
    grant = read_grant(vault)
    fix = f"lifeboat agents grant {quote_argument(agent_name)}"
    if grant is None:
        code = GrantError.NOT_GRANTED if grant_id is None else GrantError.GRANT_ENDED
        raise code(f"the user has not granted {agent_name} access to its own past", fix=fix)
    if grant.is_expired(now):
        raise GrantError.GRANT_ENDED(
            f"the grant for {agent_name} expired at {time_text(str(grant.expires_at))}", fix=fix
        )
    if grant_id not in (None, grant.id):
        raise GrantError.GRANT_ENDED(
            f"the grant under which this server was started for {agent_name} was replaced by another one",
            fix="start the server again",
        )
    return grant
