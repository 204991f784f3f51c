"""What a tool of the server may use: one agent's vault, opened for one call after the grant was checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch
from lifeboat_adapters.secrets.secret_masking import mask_secrets_in_text
from lifeboat_adapters.secrets.secret_prints import SecretPrints, shapes_in
from lifeboat_cli.mcp.quotation import HideSecrets
from lifeboat_core.agents.agent import Agent, load_agent
from lifeboat_core.capture.secret_cutter import DECISION
from lifeboat_core.grants.agent_grant import Grant, check_grant
from lifeboat_core.grants.proposal_requests import ServerSession
from lifeboat_core.home.context import Context
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """The access of one call. `hide` masks secrets that captures know, and text that looks like one: an early sequence
    may contain a secret that was cut only later."""

    context: Context
    session: ServerSession
    agent: Agent
    grant: Grant
    vault: Vault
    hide: HideSecrets


@contextmanager
def open_access(context: Context, session: ServerSession) -> Iterator[ServerAccess]:
    """Open the vault of the session's agent for one call. Raises GrantError.NOT_GRANTED, GrantError.GRANT_ENDED,
    UnknownAgent, and what opening the vault raises."""
    agent = load_agent(context, session.agent.id)
    with context.vault(agent.id) as vault:
        grant = check_grant(vault, agent.name, context.now(), session.grant_id)
        yield ServerAccess(context, session, agent, grant, vault, _hide_secrets(context, agent, vault))


def _hide_secrets(context: Context, agent: Agent, vault: Vault) -> HideSecrets:
    known = shapes_in((vault.get(DECISION) or {}).get("values", {}))
    prints = SecretPrints(context.keys(), agent.id)

    def find(data: bytes) -> Iterator[KnownSecretMatch]:
        return prints.known_in(data, known) if known else iter(())

    return lambda text: mask_secrets_in_text(text, find=find)
