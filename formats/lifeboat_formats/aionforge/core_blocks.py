"""Converts core blocks to an identity. They describe who the agent is and are never memories."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge.aionforge_mapping import EXTENSION, RUNTIME
from lifeboat_formats.aionforge.nodes import AionforgeNode

PERSONA = "persona"
_BLOCK = f"{RUNTIME}_"
_ODD = re.compile(r"[^a-z0-9_]+")


def build_identity(cores: Sequence[AionforgeNode], name: str, previous: JsonObject | None) -> JsonObject:
    """Return an identity document without ids, version and times.

    A single persona becomes the soul, unless the identity has another soul; every other block becomes a custom block.
    Other fields are those of `previous`.
    """
    known = previous or {}
    structured, prose = dict(as_object(known.get("structured"))), dict(as_object(known.get("prose")))
    if not structured.get("names"):
        structured["names"] = {"primary": name}
    kept = as_object(prose.get("custom_blocks"))
    blocks = {label: text for label, text in kept.items() if not label.startswith(_BLOCK)}
    souls = [node for node in cores if node.fields.get("block_kind") == PERSONA]
    own = as_object(known.get(EXTENSION))
    # A soul that did not come from a core block is never replaced.
    is_free = not prose.get("soul") or prose["soul"] == own.get("soul")
    soul = souls[0] if len(souls) == 1 and is_free else None
    if is_free:
        prose.pop("soul", None)
    if soul is not None:
        prose["soul"] = soul.text
    blocks |= {
        core_block_label(node): node.text for node in sorted(cores, key=lambda node: node.id) if node is not soul
    }
    prose["custom_blocks"] = blocks
    if not blocks:
        del prose["custom_blocks"]
    marks: JsonObject = {"cores": [{"id": each.id, **each.fields} for each in sorted(cores, key=lambda node: node.id)]}
    marks |= {"soul": soul.text} if soul is not None else {}
    return {**known, "structured": structured, "prose": prose, "source_format": RUNTIME, EXTENSION: marks}


def core_block_label(node: AionforgeNode) -> str:
    """Return the name of a core block among the custom blocks of an identity."""
    kind = _ODD.sub("_", str(node.fields.get("block_kind") or "core").lower())[:40]
    return f"{_BLOCK}{kind}_{node.id[-8:]}"
