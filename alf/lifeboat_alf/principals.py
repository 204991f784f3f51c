"""Who an agent works for (ALF §3.3)."""

from __future__ import annotations

from lifeboat_alf import codec, layout, records
from lifeboat_alf.json_shapes import as_object, as_text, objects_in
from lifeboat_alf.state import State


def primary(state: State) -> str:
    """The id of the first human principal, else of the first one, else the agent's own."""
    if state.entry(layout.PRINCIPALS) is None:
        return state.sequence.agent_id
    known = objects_in(as_object(codec.decode(state.body(layout.PRINCIPALS))).get("principals"))
    listed = [item for item in known if as_text(item.get("id"))]
    humans = [item for item in listed if records.reads_as("principal_type", str(item.get("principal_type"))) == "human"]
    return str((humans or listed or [{"id": state.sequence.agent_id}])[0]["id"])
