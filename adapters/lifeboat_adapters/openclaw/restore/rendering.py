"""A workspace from an agent's structured layers, where there is no raw file of OpenClaw to write (ALF §6.2)."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.contract import Rendered
from lifeboat_adapters.notes.rendering import STRUCTURED, memory_files
from lifeboat_adapters.openclaw import paths
from lifeboat_adapters.openclaw.layers import heartbeat
from lifeboat_adapters.openclaw.layers.identity import PERSONA
from lifeboat_adapters.persona import rendering
from lifeboat_adapters.persona.documents import StateFiles, text_of
from lifeboat_alf import layout
from lifeboat_alf.state import State


def render(state: State) -> Iterator[Rendered]:
    """Files under `raw/openclaw/`, sorted by kind then path. A file that a raw entry already gives is left out."""
    files = StateFiles(state)
    primary = rendering.primary_human(state)
    identity = rendering.document(state, layout.IDENTITY)
    texts = rendering.files(PERSONA, identity, primary, files, held=(heartbeat.checklist(files),))
    for name, text in texts.items():
        path = paths.RAW + name
        if text.strip() and text_of(files, path) != text:
            yield Rendered(path, text.encode("utf-8", "replace"), STRUCTURED)
    has_profile = bool(texts.get(paths.USER))
    yield from memory_files(state, paths.RAW, str(primary.get("id", "")), has_profile=has_profile)
