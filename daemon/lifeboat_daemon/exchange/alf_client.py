"""What the reference client `alf` leaves in a workspace: the id of its agent, in `.alf-agent-id`."""

from __future__ import annotations

import os
from pathlib import Path

from lifeboat_alf import ids

AGENT_FILE = ".alf-agent-id"
_LONGEST = 200


def agent_id_in(workspace: Path) -> str | None:
    """Return the id that the client gave the agent of a workspace; None where it left none that is a UUID."""
    file = workspace / AGENT_FILE
    try:
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            text = stream.read(_LONGEST).decode("utf-8", "replace").strip()
    except OSError:
        return None
    return text.lower() if ids.is_uuid(text) else None


def leave_agent_id(workspace: Path, agent_id: str) -> None:
    """Write the id where the client looks for it, unless it left one. Raises OSError."""
    file = workspace / AGENT_FILE
    if not os.path.lexists(file):
        file.write_text(agent_id, encoding="utf-8")
