"""Writes files for programs that read older dialects: without line numbers (`compiled`) or with numbered blocks
(`blocks`).

These files hold texts, types and times only: their readers would misread extension sections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.aicf_mapping import OWN
from lifeboat_formats.aicf.output.respelling import tag_of
from lifeboat_formats.aicf.records.memory_drafts import RATIONALE
from lifeboat_formats.aicf.syntax.aicf_times import format_time
from lifeboat_formats.aicf.syntax.cell_values import Escaping, escape_cell

COMPILED, BLOCKS = "compiled", "blocks"


def write_compiled(records: Sequence[JsonObject]) -> str:
    """Return sections with rows, separated by blank lines."""
    sections: dict[str, list[str]] = {"@METADATA:": ["format=AICF", f"version={aicf_mapping.VERSION}"]}
    for record in records:
        header, row = _row(record)
        sections.setdefault(header, []).append(row)
    return "\n".join("\n".join([header, *rows]) + "\n" for header, rows in sections.items())


def _row(record: JsonObject) -> tuple[str, str]:
    text, kind = _escaped(str(record["content"])), _kind(record)
    if kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
        own = record[OWN]
        return "@STATE:", "|".join(_escaped(str(own[name])) for name in ("scope", "key", "value"))
    if kind == aicf_mapping.DECISION:
        decided, _, rationale = str(record["content"]).partition(RATIONALE)
        return "@DECISIONS:", f"{_escaped(decided)}|{_escaped(rationale)}"
    if kind == aicf_mapping.INSIGHT:
        tags = record.get("tags")
        category, priority = tag_of(tags, "category") or "GENERAL", tag_of(tags, "priority") or "MEDIUM"
        return "@INSIGHTS:", f"{text}|{_escaped(category)}|{_escaped(priority)}|{_number(record)}"
    return "@MEMORY:", f"{record.get('memory_type', 'semantic')}|{_time(record)}|{text}"


def _kind(record: JsonObject) -> str:
    """Return the kind of section that a memory came from, if its content still fits that section, else ""."""
    own, category = record.get(OWN), str(record.get("category", ""))
    kind = next((kind for kind in aicf_mapping.KINDS if category == aicf_mapping.category_of(kind)), "")
    if kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
        is_whole = isinstance(own, dict) and all(isinstance(own.get(name), str) for name in ("scope", "key", "value"))
        return kind if is_whole and str(record["content"]).endswith(f": {own['value']}") else ""  # type: ignore[index]
    return kind


def _number(record: JsonObject) -> float:
    found = record.get("confidence")
    return float(found) if isinstance(found, int | float) else aicf_mapping.LEVELS["MEDIUM"]


def write_blocks(records: Sequence[JsonObject]) -> str:
    """Return one block per memory. Only the first line of a block is numbered."""
    return "".join(f"{number}|{_block(record)}\n" for number, record in enumerate(records, 1))


def _block(record: JsonObject) -> str:
    return "".join(f"{line}\n" for line in _block_lines(record))


def _block_lines(record: JsonObject) -> Iterator[str]:
    if _kind(record) == aicf_mapping.DECISION:
        decided, _, rationale = str(record["content"]).partition(RATIONALE)
        yield f"@DECISION:{record['id']}"
        yield f"timestamp={_time(record)}"
        yield f"description={_escaped(decided)}"
        yield f"impact={_escaped(tag_of(record.get('tags'), 'impact') or 'MEDIUM')}"
        yield f"confidence={aicf_mapping.level_of(record.get('confidence'))}"
        if rationale:
            yield f"rationale={_escaped(rationale)}"
        return
    yield f"@MEMORY:{record.get('memory_type', 'semantic')}"
    yield f"content={_escaped(str(record['content']))}"
    yield f"timestamp={_time(record)}"


def _time(record: JsonObject) -> str:
    temporal = record.get("temporal") or {}
    return format_time(str(temporal.get("observed_at") or temporal.get("created_at") or ""))


def _escaped(text: str) -> str:
    """Escape as writers of these dialects do: a backslash stands for itself."""
    return escape_cell(text, Escaping.LOOSE)
