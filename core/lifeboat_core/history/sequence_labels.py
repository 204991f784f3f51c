"""Labels that users give to sequences. A labelled sequence is never thinned on this machine."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import DaemonError
from lifeboat_core.history import sequence_timeline
from lifeboat_core.home.context import Context
from lifeboat_core.restore.plan_opening import find_sequence_at

LONGEST = 200
"""Characters."""


def set_label(context: Context, agent: Agent, at: str, text: str | None) -> JsonObject:
    """Label a sequence, or remove its label (None); return its entry in the timeline. Raises DaemonError.BAD_LABEL,
    UnknownSequence, NothingToRestore."""
    name = None if text is None else _checked(text)
    with context.vault(agent.id) as vault:
        number = find_sequence_at(vault, at)
        if vault.sequence(number).label != name:
            vault.label(number, name)
        return sequence_timeline.make_sequence_teller(context, vault)(vault.sequence(number))


def load_labelled_sequence(context: Context, agent: Agent, at: str) -> JsonObject:
    """Return the entry of a sequence in the timeline. Raises UnknownSequence, NothingToRestore."""
    with context.vault(agent.id) as vault:
        return sequence_timeline.make_sequence_teller(context, vault)(vault.sequence(find_sequence_at(vault, at)))


def _checked(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > LONGEST or not name.isprintable():
        raise DaemonError.BAD_LABEL(f"a name is one line of 1 to {LONGEST} characters that can be printed")
    return name
