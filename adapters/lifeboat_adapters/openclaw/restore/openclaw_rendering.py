"""Render a workspace from an agent's structured layers, where there is no raw file of OpenClaw (ALF §6.2)."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.contract import RenderedFile
from lifeboat_adapters.notes.note_rendering import STRUCTURED, render_notes
from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.openclaw.layers import heartbeat
from lifeboat_adapters.openclaw.layers.openclaw_identity import PERSONA
from lifeboat_adapters.persona import persona_files
from lifeboat_adapters.persona.derivation_files import StateFiles, read_file_text
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.states.agent_state import State


def render_openclaw_files(state: State) -> Iterator[RenderedFile]:
    """Yield files under `raw/openclaw/`, sorted by kind and path. Files that a raw entry already provides
    are left out."""
    files = StateFiles(state)
    primary = persona_files.find_primary_human(state)
    identity = persona_files.decode_document(state, archive_layout.IDENTITY)
    texts = persona_files.make_persona_files(
        PERSONA, identity, primary, files, held=(heartbeat.heartbeat_checklist(files),)
    )
    for name, text in texts.items():
        path = openclaw_paths.RAW + name
        if text.strip() and read_file_text(files, path) != text:
            yield RenderedFile(path, text.encode("utf-8", "replace"), STRUCTURED)
    has_profile = bool(texts.get(openclaw_paths.USER))
    yield from render_notes(state, openclaw_paths.RAW, str(primary.get("id", "")), has_profile=has_profile)
