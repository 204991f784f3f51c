"""A state as one file of this format: as it came where it came from one, with what changed since; else in the form that
is asked for. Every value goes through the cleaning step, and of everything it is told what became of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_adapters.persona import rendering as persona
from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf import codec, layout, records
from lifeboat_alf.json_shapes import as_list, objects_in
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import State
from lifeboat_formats.aicf import (
    extension,
    layers,
    other_dialects,
    patching,
    reading,
    rebuilding,
    rendering,
    standing,
    writing,
)
from lifeboat_formats.aicf.mapping import RAW
from lifeboat_formats.aicf.other_dialects import BLOCKS, COMPILED
from lifeboat_formats.aicf.patching import Patch
from lifeboat_formats.aicf.sanitizing import Sanitizer, pseudonyms
from lifeboat_formats.aicf.standing import Remembered
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import Notice
from lifeboat_formats.interchange.errors import InterchangeError

SAME, NEWEST = "same", "v3.1"
DIALECTS = (SAME, NEWEST, COMPILED, BLOCKS)
LARGEST_FIELD = 64 * 1024
"""UTF-8 bytes; the specification recommends no longer field. A longer one is written, and told."""

_WORD = re.compile(r"\w+|[^\w\s]")
_NAME = "memory.aicf"


@dataclass(frozen=True, slots=True)
class Wish:
    """`cleaner` None: nothing is looked for, as before the user was asked."""

    dialect: str = SAME
    pseudonymise: bool = False
    cleaner: Cleaner | None = None


@dataclass(slots=True)
class Outgoing:
    """The file, and what became of everything."""

    text: str
    fates: list[Fate] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    figures: dict[str, int | float] = field(default_factory=dict)


@dataclass(slots=True)
class _Body:
    """A file before it is cleaned. `form` is what its memories became; `named` are the ids of those that it holds with
    everything, in the order of the file."""

    text: str
    form: str
    held: list[JsonObject]
    documents: dict[str, JsonObject]
    synthesised: int = 0
    extended: int = 0
    keeps_raw: str = ""


def outgoing(state: State, wish: Wish) -> Outgoing:
    """Raises SecretsFound and SanitizerFailed, and InterchangeError for what cannot be written."""
    known = standing.remembered(state)
    body = _body(state, known, wish)
    text = _clean(body, wish)
    if text is None:
        body = _written(state, known, wish)
        text = _clean(body, wish)
    if text is None:
        raise InterchangeError("the memories cannot be cleaned in the form of AICF")
    made = Outgoing(text)
    made.fates = [*_of_memories(known, body, text), *_of_documents(state, body, wish), *_of_files(state, body)]
    made.notices = list(_notices(body, text))
    made.figures = _figures(body, text, wish)
    return made


def _body(state: State, known: Remembered, wish: Wish) -> _Body:
    if wish.dialect == SAME:
        found = _as_it_came(state, known)
        if found is not None:
            return found
    return _written(state, known, wish)


def _saying(known: Remembered) -> list[JsonObject]:
    """Memories that say something."""
    return [record for record in known.memories.values() if str(record["content"]).strip()]


def _as_it_came(state: State, known: Remembered) -> _Body | None:
    """The one file that the state came from, with what changed; None where there is none, or more than one."""
    found = _patched(state, known)
    if found is None:
        return None
    name, patch, held = found
    ids = {str(record["id"]) for record in held} - {str(record["id"]) for record in patch.left}
    left = [record for record in _saying(known) if str(record["id"]) not in ids]
    documents = {
        section: document
        for section, document in _documents(state).items()
        if layers.said_in(patch.text).get(section) != document and not layers.is_made_up({section: document})
    }
    text = patch.text
    if left or documents:
        if not rendering.can_grow(text):
            return None
        made = writing.made(left, documents, with_version=False)
        text = patching.appended(text, made.lines)
        if not _is_whole(text, [str(record["content"]) for record in _saying(known)]):
            return None
    return _Body(text, "as it came", _saying(known), documents, keeps_raw=RAW + name)


def _is_whole(text: str, contents: Sequence[str]) -> bool:
    return sorted(_contents(text)) == sorted(contents)


def _contents(text: str) -> list[str]:
    """What the memories of a file say, in their order."""
    return [str(record["content"]) for _, record in reading.read(text, _NAME).memories()]


def _patched(state: State, known: Remembered) -> tuple[str, Patch, list[JsonObject]] | None:
    """Name and text of the one file, and the memories that stood in it."""
    raw = list(standing.raw_files(state))
    if len(raw) == 1:
        now = known.of(raw[0].read, raw[0].listed)
        return raw[0].name, patching.patched(raw[0].read, now), [record for record in now.values() if record]
    if raw:
        return None
    groups = rebuilding.by_file(_saying(known))
    if len(groups) != 1:
        return None
    ((name, memories),) = groups.items()
    patch = rebuilding.rebuilt(name, memories)
    return None if patch is None else (name, patch, memories)


def _written(state: State, known: Remembered, wish: Wish) -> _Body:
    """A new file. What was not cleaned in the form that was asked for is written in the newest."""
    held = _saying(known)
    if wish.dialect in (COMPILED, BLOCKS):
        make = other_dialects.compiled if wish.dialect == COMPILED else other_dialects.blocks
        return _Body(make(held), wish.dialect, held, {})
    documents = {} if wish.pseudonymise else _documents(state)
    attachments = [_attachment(entry.path, entry.size, entry.sha256) for entry in state.entries(layout.ARTIFACTS)]
    listed = {extension.ATTACHMENTS: {"artifacts": attachments}} if attachments else {}
    made = writing.made(held, {**documents, **listed})
    synthesised = sum(len(each.synthesised) for each in made.planned)
    text = writing.numbered(made.lines)
    return _Body(text, NEWEST, held, documents, synthesised, made.extended)


def _attachment(path: str, size: int, sha256: str | None) -> JsonObject:
    return {"filename": path[len(layout.ARTIFACTS) :], "size": size, **({"sha256": sha256} if sha256 else {})}


def _documents(state: State) -> dict[str, JsonObject]:
    paths = ((extension.IDENTITY, layout.IDENTITY), (extension.PRINCIPALS, layout.PRINCIPALS))
    found = {section: layers.portable(persona.document(state, path)) for section, path in paths}
    return {section: document for section, document in found.items() if document}


def _clean(body: _Body, wish: Wish) -> str | None:
    users = pseudonyms(body.text) if wish.pseudonymise else {}
    return Sanitizer(wish.cleaner, users).clean(body.text, where=_NAME)


# What became of everything ------------------------------------------------------------------------------------------


def _of_memories(known: Remembered, body: _Body, text: str) -> Iterator[Fate]:
    before = _contents(body.text)
    after = before if text == body.text else _contents(text)
    changed = {one for one, other in zip(before, after, strict=False) if one != other}
    there, held = set(before), {str(record["id"]) for record in body.held}
    for record_id, record in known.memories.items():
        content = str(record["content"])
        if record_id not in held:
            yield Fate("memory", record_id, Outcome.OMITTED, "it says nothing", "empty")
        elif content in changed or len(before) != len(after):
            yield Fate("memory", record_id, Outcome.TRANSFORMED, "what was found in it is redacted", "redacted")
        elif body.form in (COMPILED, BLOCKS):
            yield _in_an_older_form(record_id, content in there)
        elif body.form == NEWEST:
            yield Fate("memory", record_id, Outcome.TRANSFORMED, "written in the form of AICF 3.1", "written")
        else:
            yield Fate("memory", record_id, Outcome.ACCEPTED)
    for record in known.hidden:
        reason = f"it is {records.status(record)}: a file of this format holds what is remembered now"
        yield Fate("memory", str(record["id"]), Outcome.OMITTED, reason, "not_remembered")


def _in_an_older_form(record_id: str, is_there: bool) -> Fate:
    if is_there:
        return Fate(
            "memory", record_id, Outcome.TRANSFORMED, "text, type and time; nothing else has a place", "older_form"
        )
    reason = "its text reads otherwise there: this form has no escape for backslashes"
    return Fate("memory", record_id, Outcome.TRANSFORMED, reason, "read_otherwise")


def _of_documents(state: State, body: _Body, wish: Wish) -> Iterator[Fate]:
    is_read = body.form != NEWEST and body.text.lstrip()[:1] not in "{[<"  # what was written anew is known
    said = {**layers.said_in(body.text if is_read else ""), **body.documents}
    for kind, section, path in (
        ("identity", extension.IDENTITY, layout.IDENTITY),
        ("principal", extension.PRINCIPALS, layout.PRINCIPALS),
    ):
        document = layers.portable(persona.document(state, path))
        names = (
            [str(one.get("id", "")) for one in objects_in(document.get("principals"))]
            if kind == "principal"
            else [path]
        )
        is_there = section in said or (body.keeps_raw and layers.is_made_up({section: document}))
        for name in names if document else ():
            if is_there:
                yield Fate(kind, name, Outcome.ACCEPTED)
            else:
                reason = "names are written as others" if wish.pseudonymise else "this form has no place for it"
                yield Fate(kind, name, Outcome.OMITTED, reason, "no_place")
    for each in as_list(persona.document(state, layout.CREDENTIALS).get("credentials")):
        name = str(each.get("id", "")) if isinstance(each, dict) else ""
        yield Fate("credential", name, Outcome.OMITTED, "credentials are never written into such a file", "credential")


def _of_files(state: State, body: _Body) -> Iterator[Fate]:
    told = (layout.MANIFEST, layout.IDENTITY, layout.PRINCIPALS, layout.CREDENTIALS)
    for entry in state.entries():
        path = entry.path
        if path in told:
            continue
        if path == body.keeps_raw:
            yield Fate("file", path, Outcome.ACCEPTED)
        elif path.startswith(RAW) and not body.keeps_raw:
            reason = "its memories are written in another form"
            yield Fate("file", path, Outcome.TRANSFORMED, reason, "another_form")
        elif path.startswith(layout.ARTIFACTS):
            yield Fate("artifact", path, Outcome.OMITTED, "a text file holds no attachments", "attachment")
        elif path.startswith(layout.EMBEDDINGS):
            yield Fate("vector", path, Outcome.OMITTED, "a runtime makes vectors again", "vectors")
        elif path.startswith(layout.RAW):
            yield Fate("file", path, Outcome.OMITTED, "of a runtime alone; its memories are written", "of_a_runtime")
        else:
            yield Fate("document", path, Outcome.OMITTED, "this format has no place for it", "no_place")


def _notices(body: _Body, text: str) -> Iterator[Notice]:
    if body.synthesised:
        said = f"{body.synthesised} required fields were made from times, or stand for what is not known"
        yield Notice("synthesised", said)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) * 4 > LARGEST_FIELD and len(line.encode("utf-8", "replace")) > LARGEST_FIELD:
            yield Notice("field_too_long", "longer than the 64 KiB that the format recommends", f"line {number}")


def _figures(body: _Body, text: str, wish: Wish) -> dict[str, int | float]:
    """What the memories weigh, as lines of an archive and as this file: in bytes, and in words and signs."""
    lines = [codec.encode(record).decode("utf-8", "replace") for record in body.held]
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
