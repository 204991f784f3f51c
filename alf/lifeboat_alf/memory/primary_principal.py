"""Find the principal that an agent works for (ALF §3.3)."""

from __future__ import annotations

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_object, as_text, objects_in
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states.agent_state import State


def primary_principal_id(state: State) -> str:
    """Return the id of the first human principal, else of the first one, else the agent's own."""
    if state.entry(archive_layout.PRINCIPALS) is None:
        return state.sequence.agent_id
    known = objects_in(as_object(json_codec.decode_json(state.body(archive_layout.PRINCIPALS))).get("principals"))
    listed = [item for item in known if as_text(item.get("id"))]
    humans = [
        item for item in listed if memory_records.reads_as("principal_type", str(item.get("principal_type"))) == "human"
    ]
    return str((humans or listed or [{"id": state.sequence.agent_id}])[0]["id"])
