"""Exports a state as one AICF file: the original file with its changes if the state came from one, else a new file in
the requested dialect. Every value passes the cleaning step, and every item of the state gets a fate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.persona import persona_files as persona
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_list, objects_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aicf.aicf_mapping import RAW
from lifeboat_formats.aicf.output import (
    file_patching,
    file_writing,
    older_dialects,
    rebuilding,
    remembered_state,
    workspace_rendering,
)
from lifeboat_formats.aicf.output.file_patching import PatchedFile
from lifeboat_formats.aicf.output.older_dialects import BLOCKS, COMPILED
from lifeboat_formats.aicf.output.remembered_state import RememberedMemories
from lifeboat_formats.aicf.output.sanitizing import Sanitizer, choose_pseudonyms
from lifeboat_formats.aicf.records import extension, file_memories, identity_layers
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import FormatNotice
from lifeboat_formats.interchange.errors import InterchangeError

SAME, NEWEST = "same", "v3.1"
DIALECTS = (SAME, NEWEST, COMPILED, BLOCKS)
LARGEST_FIELD = 64 * 1024
"""Longest field in UTF-8 bytes that the specification recommends. Longer fields are written with a notice."""

_WORD = re.compile(r"\w+|[^\w\s]")
_NAME = "memory.aicf"


@dataclass(frozen=True, slots=True)
class AicfExportOptions:
    """Options of an export. With `cleaner` None nothing is searched for, as in a preview."""

    dialect: str = SAME
    pseudonymise: bool = False
    cleaner: Cleaner | None = None


@dataclass(slots=True)
class AicfExport:
    """An exported file and the fates of everything in the state."""

    text: str
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    figures: dict[str, int | float] = field(default_factory=dict)


@dataclass(slots=True)
class _UncleanedFile:
    """A file before cleaning. `form` is the form in which its memories are written, `held` are the memories in the
    file."""

    text: str
    form: str
    held: list[JsonObject]
    documents: dict[str, JsonObject]
    synthesised: int = 0
    extended: int = 0
    keeps_raw: str = ""


def export_file(state: State, wish: AicfExportOptions) -> AicfExport:
    """Export a state. Raises SecretsFound, SanitizerFailed, and InterchangeError if the memories cannot be written."""
    known = remembered_state.collect_memories(state)
    body = _body(state, known, wish)
    text = _clean(body, wish)
    if text is None:
        body = _written(state, known, wish)
        text = _clean(body, wish)
    if text is None:
        raise InterchangeError(
            "the memories cannot be written as AICF after personal data and secrets were removed from them"
        )
    made = AicfExport(text)
    made.fates = [*_of_memories(known, body, text), *_of_documents(state, body, wish), *_of_files(state, body)]
    made.notices = list(_notices(body, text))
    made.figures = _figures(body, text, wish)
    return made


def _body(state: State, known: RememberedMemories, wish: AicfExportOptions) -> _UncleanedFile:
    if wish.dialect == SAME:
        found = _as_it_came(state, known)
        if found is not None:
            return found
    return _written(state, known, wish)


def _saying(known: RememberedMemories) -> list[JsonObject]:
    """Return the memories that have content."""
    return [record for record in known.memories.values() if str(record["content"]).strip()]


def _as_it_came(state: State, known: RememberedMemories) -> _UncleanedFile | None:
    """Return the one file that the state came from, with its changes. None if there is not exactly one, or it cannot
    take the changes."""
    found = _patched(state, known)
    if found is None:
        return None
    name, patch, held = found
    ids = {str(record["id"]) for record in held} - {str(record["id"]) for record in patch.left}
    left = [record for record in _saying(known) if str(record["id"]) not in ids]
    documents = {
        section: document
        for section, document in remembered_state.find_documents(state).items()
        if identity_layers.read_stated_documents(patch.text).get(section) != document
        and not identity_layers.is_placeholder({section: document})
    }
    text = patch.text
    if left or documents:
        # Older dialects cannot take sections of version 3.1 behind them.
        if not workspace_rendering.can_append(text):
            return None
        made = file_writing.compose_file(left, documents, with_version=False)
        text = file_patching.append_lines(text, made.lines)
        if sorted(_contents(text)) != sorted(str(record["content"]) for record in _saying(known)):
            return None
    return _UncleanedFile(text, "unchanged", _saying(known), documents, keeps_raw=RAW + name)


def _contents(text: str) -> list[str]:
    """Return the contents of a file's memories, in order."""
    return [str(record["content"]) for _, record in file_memories.read_memories(text, _NAME).memories()]


def _patched(state: State, known: RememberedMemories) -> tuple[str, PatchedFile, list[JsonObject]] | None:
    """Return name and patched text of the one original file, and the memories that stood in it."""
    raw = list(remembered_state.find_raw_files(state))
    if len(raw) == 1:
        now = known.of(raw[0].read, raw[0].listed)
        return raw[0].name, file_patching.patch_file(raw[0].read, now), [record for record in now.values() if record]
    if raw:
        return None
    groups = rebuilding.group_by_file(_saying(known))
    if len(groups) != 1:
        return None
    ((name, memories),) = groups.items()
    patch = rebuilding.rebuild_file(name, memories)
    return None if patch is None else (name, patch, memories)


def _written(state: State, known: RememberedMemories, wish: AicfExportOptions) -> _UncleanedFile:
    """Return a new file in the requested dialect."""
    held = _saying(known)
    if wish.dialect in (COMPILED, BLOCKS):
        make = older_dialects.write_compiled if wish.dialect == COMPILED else older_dialects.write_blocks
        return _UncleanedFile(make(held), wish.dialect, held, {})
    documents = {} if wish.pseudonymise else remembered_state.find_documents(state)
    attachments = [
        _attachment(entry.path, entry.size, entry.sha256) for entry in state.entries(archive_layout.ARTIFACTS)
    ]
    listed = {extension.ATTACHMENTS: {"artifacts": attachments}} if attachments else {}
    made = file_writing.compose_file(held, {**documents, **listed})
    synthesised = sum(len(each.synthesised) for each in made.planned)
    text = file_writing.number_lines(made.lines)
    return _UncleanedFile(text, NEWEST, held, documents, synthesised, made.extended)


def _attachment(path: str, size: int, sha256: str | None) -> JsonObject:
    return {"filename": path[len(archive_layout.ARTIFACTS) :], "size": size, **({"sha256": sha256} if sha256 else {})}


def _clean(body: _UncleanedFile, wish: AicfExportOptions) -> str | None:
    users = choose_pseudonyms(body.text) if wish.pseudonymise else {}
    return Sanitizer(wish.cleaner, users).clean(body.text, where=_NAME)


# What became of everything ------------------------------------------------------------------------------------------


def _of_memories(known: RememberedMemories, body: _UncleanedFile, text: str) -> Iterator[ItemFate]:
    before = _contents(body.text)
    after = before if text == body.text else _contents(text)
    changed = {one for one, other in zip(before, after, strict=False) if one != other}
    there, held = set(before), {str(record["id"]) for record in body.held}
    for record_id, record in known.memories.items():
        content = str(record["content"])
        if record_id not in held:
            yield ItemFate("memory", record_id, ItemOutcome.OMITTED, "the text of this memory is empty", "empty")
        elif content in changed or len(before) != len(after):
            yield ItemFate(
                "memory",
                record_id,
                ItemOutcome.TRANSFORMED,
                "personal data or secrets were removed from the text",
                "redacted",
            )
        elif body.form in (COMPILED, BLOCKS):
            yield _in_an_older_form(record_id, content in there)
        elif body.form == NEWEST:
            yield ItemFate(
                "memory",
                record_id,
                ItemOutcome.TRANSFORMED,
                "the memory was written in the form of AICF 3.1",
                "written",
            )
        else:
            yield ItemFate("memory", record_id, ItemOutcome.ACCEPTED)
    for record in known.hidden:
        reason = (
            f"the memory is {memory_records.read_record_status(record)}, and a file in this format contains only "
            "active memories"
        )
        yield ItemFate("memory", str(record["id"]), ItemOutcome.OMITTED, reason, "not_remembered")


def _in_an_older_form(record_id: str, is_there: bool) -> ItemFate:
    if is_there:
        return ItemFate(
            "memory",
            record_id,
            ItemOutcome.TRANSFORMED,
            "this older AICF version stores only text, type and time of a memory",
            "older_form",
        )
    reason = "this AICF version cannot represent backslashes, so the text reads differently when the file is imported"
    return ItemFate("memory", record_id, ItemOutcome.TRANSFORMED, reason, "read_otherwise")


def _of_documents(state: State, body: _UncleanedFile, wish: AicfExportOptions) -> Iterator[ItemFate]:
    is_read = (
        body.form != NEWEST and body.text.lstrip()[:1] not in "{[<"
    )  # `documents` already lists what a new file holds
    said = {**identity_layers.read_stated_documents(body.text if is_read else ""), **body.documents}
    for kind, section, path in (
        ("identity", extension.IDENTITY, archive_layout.IDENTITY),
        ("principal", extension.PRINCIPALS, archive_layout.PRINCIPALS),
    ):
        document = identity_layers.strip_stamps(persona.decode_document(state, path))
        names = (
            [str(one.get("id", "")) for one in objects_in(document.get("principals"))]
            if kind == "principal"
            else [path]
        )
        is_there = section in said or (body.keeps_raw and identity_layers.is_placeholder({section: document}))
        for name in names if document else ():
            if is_there:
                yield ItemFate(kind, name, ItemOutcome.ACCEPTED)
            else:
                reason = (
                    "user names are replaced in this export, so this data is left out"
                    if wish.pseudonymise
                    else "this AICF version has no field for this data"
                )
                yield ItemFate(kind, name, ItemOutcome.OMITTED, reason, "no_place")
    for each in as_list(persona.decode_document(state, archive_layout.CREDENTIALS).get("credentials")):
        name = str(each.get("id", "")) if isinstance(each, dict) else ""
        yield ItemFate(
            "credential", name, ItemOutcome.OMITTED, "credentials are never written to an AICF file", "credential"
        )


def _of_files(state: State, body: _UncleanedFile) -> Iterator[ItemFate]:
    told = (archive_layout.MANIFEST, archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS)
    for entry in state.entries():
        path = entry.path
        if path in told:
            continue
        if path == body.keeps_raw:
            yield ItemFate("file", path, ItemOutcome.ACCEPTED)
        elif path.startswith(RAW) and not body.keeps_raw:
            reason = "the file itself was not written; its memories were written as records"
            yield ItemFate("file", path, ItemOutcome.TRANSFORMED, reason, "another_form")
        elif path.startswith(archive_layout.ARTIFACTS):
            yield ItemFate(
                "artifact", path, ItemOutcome.OMITTED, "a text file cannot contain attachments", "attachment"
            )
        elif path.startswith(archive_layout.EMBEDDINGS):
            yield ItemFate(
                "vector",
                path,
                ItemOutcome.OMITTED,
                "vectors are not exported, because a runtime computes its own",
                "vectors",
            )
        elif path.startswith(archive_layout.RAW):
            yield ItemFate(
                "file",
                path,
                ItemOutcome.OMITTED,
                "a file of a runtime is not exported; only the memories in the file were written",
                "of_a_runtime",
            )
        else:
            yield ItemFate("document", path, ItemOutcome.OMITTED, "AICF has no field for this data", "no_place")


def _notices(body: _UncleanedFile, text: str) -> Iterator[FormatNotice]:
    if body.synthesised:
        said = f"{body.synthesised} required fields had no value; the export filled them with a time or a placeholder"
        yield FormatNotice("synthesised", said)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) * 4 > LARGEST_FIELD and len(line.encode("utf-8", "replace")) > LARGEST_FIELD:
            yield FormatNotice("field_too_long", "this line is longer than the recommended 64 KiB", f"line {number}")


def _figures(body: _UncleanedFile, text: str, wish: AicfExportOptions) -> dict[str, int | float]:
    """Return the size of the memories as archive lines and as this file, in bytes and in tokens (words and signs)."""
    lines = [json_codec.encode_json(record).decode("utf-8", "replace") for record in body.held]
    before, after = sum(len(line.encode()) for line in lines), len(text.encode("utf-8", "replace"))
    figures: dict[str, int | float] = {
        "alf_bytes": before,
        "aicf_bytes": after,
        "alf_tokens": sum(len(_WORD.findall(line)) for line in lines),
        "aicf_tokens": len(_WORD.findall(text)),
    }
    if before:
        figures["compression_ratio"] = math.floor(after / before * 1000) / 1000
    if body.extended:
        figures["extension_sections"] = body.extended
    return figures | (wish.cleaner.figures() if wish.cleaner is not None else {})
