"""Divides a file into pieces: consecutive spans, each either one memory or the text between memories.

    @INSIGHTS                                   between
    @INSIGHTS text|GENERAL|HIGH|HIGH            a memory: a row is one, a block with fields is one,
                                                and so is each key of @STATE:user and @STATE:app
    @LINKS a->b|depends_on                      between: it describes the memory a

`piece_relations` adds what other sections say of a piece, `file_memories` makes records of pieces.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.records import memory_drafts
from lifeboat_formats.aicf.records.memory_drafts import MemoryDraft
from lifeboat_formats.aicf.syntax import older_spellings
from lifeboat_formats.aicf.syntax.aicf_times import normalize_time
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, AicfItem, AicfSection, Dialect, ItemKind
from lifeboat_formats.aicf.syntax.stated_times import clock_of, stated_time

ROWS = (ItemKind.ROW, ItemKind.CELLS, ItemKind.TEXT)
SESSION_SCOPES = ("", "session")
KEYED_SCOPES = ("user", "app")
EXTENSION = "ALF_"
"""Prefix of the names of extension sections."""

_BETWEEN = frozenset(("AICF_VERSION", "SCHEMA", "LINKS", "LINK", "EMBEDDING"))
_FREE = frozenset(("NOTES", "CONTEXT", "CONTENT", "DETAILS", "FLOW"))
NOTHING = (ItemKind.BLANK, ItemKind.COMMENT, ItemKind.FENCE, ItemKind.HEADER, ItemKind.END, ItemKind.GLUE)
_MESSAGE = "MESSAGE"
_INFERRED = frozenset(("DECISIONS", "DECISION", "INSIGHTS", "INSIGHT"))
_NUMBER = re.compile(r"[ \t]*[0-9]+\|")
_ESCAPED_SIGN = re.compile(r"\\(?=\\*@)")


@dataclass(slots=True)
class FilePiece:
    """A span of a file. A piece without `made` is text between memories.

    `start` to `end` is the span, `items` are its items. `key` identifies the piece within its section, `handle` within
    the file, `heading` after an edit. `conversation` is the conversation that it belongs to, `session` the identifier
    of its session. `about` is the memory that a piece between memories describes.
    """

    start: int
    end: int
    section: AicfSection
    items: Sequence[AicfItem]
    made: MemoryDraft | None = None
    key: str = ""
    handle: str = ""
    heading: tuple[str, ...] = ()
    conversation: FilePiece | None = None
    session: str = ""
    user: str = ""
    record_id: str = ""
    related: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    embeddings: list[JsonObject] = field(default_factory=list)
    own: JsonObject = field(default_factory=dict)
    overlay: JsonObject | None = None
    about: FilePiece | None = None


def split_pieces(document: AicfDocument) -> list[FilePiece]:
    """Return all pieces of a file in order. Their spans cover the text."""
    found: list[FilePiece] = []
    for section in document.sections:
        for piece in _of_section(document, section):
            # A memory without text is only markup between others.
            if piece.made is not None and not piece.made.text:
                piece.made = None
            found.append(piece)
    if document.dialect is Dialect.JSON:
        _apply_document(document, found)
    _place(found)
    return found


def _apply_document(document: AicfDocument, found: Sequence[FilePiece]) -> None:
    """Give time and topic of a JSON file to the memories that state none."""
    time, topic = older_spellings.json_time(document.json), older_spellings.json_topic(document.json)
    for piece in found:
        made = piece.made
        if made is None:
            continue
        if made.kind == aicf_mapping.CONVERSATION and topic and not made.fields.get("tags"):
            made = made._replace(fields={**made.fields, "tags": [f"topic:{topic}"]})
        piece.made = made if made.event else made._replace(event=time)


def _of_section(document: AicfDocument, section: AicfSection) -> Iterator[FilePiece]:
    if not section.items:
        return
    if document.dialect is Dialect.JSON:
        yield from _json(section)
    elif document.dialect is Dialect.XML:
        yield from _xml(section)
    elif section.name == "STATE":
        yield from _state(section)
    elif section.name in _BETWEEN or section.name.startswith(EXTENSION):
        yield _piece(section, section.items)
    elif section.name in _ROW_MAKERS:
        yield from _rows_or_block(document, section, *_ROW_MAKERS[section.name])
    elif section.name in _BLOCK_MAKERS:
        yield _block(document, section, _BLOCK_MAKERS[section.name])
    elif section.name == "DATA":
        yield from _each_row(section, lambda cells: memory_drafts.draft_data_row(section.columns, cells))
    elif not section.name and document.dialect is Dialect.POSITIONAL:
        yield from _each_row(section, memory_drafts.draft_positional_row)
    elif not section.name and document.dialect is Dialect.EIGHT_COLUMNS:
        yield from _each_row(section, lambda cells: memory_drafts.draft_data_row((), cells))
    else:
        yield _verbatim(document, section)


def _piece(
    section: AicfSection, items: Sequence[AicfItem], made: MemoryDraft | None = None, key: str = ""
) -> FilePiece:
    return FilePiece(items[0].start, items[-1].end, section, items, made, key)


def _rows_or_block(
    document: AicfDocument,
    section: AicfSection,
    row: Callable[[Sequence[str]], MemoryDraft],
    block: Callable[[str, memory_drafts.Pairs], MemoryDraft],
) -> Iterator[FilePiece]:
    """Divide a section that is one memory if it has fields, else one memory per row."""
    if section.name in _INFERRED and older_spellings.has_numbered(section):
        yield from _numbered(section)
    elif any(item.kind is ItemKind.PAIR for item in section.items):
        yield _block(document, section, block)
    elif document.dialect is Dialect.WATCHER and section.name == "CONVERSATION":
        yield from _each_row(section, partial(_watched_row, *_watched_header(section)))
    elif section.name == "CONVERSATION" and any(
        older_spellings.parse_spoken_line(each.value) for each in section.of_kind(*ROWS)
    ):
        yield from _each_row(section, _spoken_row)
    elif section.name == "CONVERSATION" and not any(item.kind is ItemKind.CELLS for item in section.items):
        yield _verbatim(document, section) if any(section.of_kind(ItemKind.TEXT)) else _named_or_nothing(section, block)
    else:
        yield from _each_row(section, row)


def _named_or_nothing(section: AicfSection, block: Callable[[str, memory_drafts.Pairs], MemoryDraft]) -> FilePiece:
    made = block(section.ident, {}) if section.ident else None
    return _piece(section, section.items, made, section.ident)


def _block(
    document: AicfDocument, section: AicfSection, make: Callable[[str, memory_drafts.Pairs], MemoryDraft]
) -> FilePiece:
    made = make(section.ident, section.pairs())
    if not made.text:
        return _verbatim(document, section)
    return _piece(section, section.items, made, section.ident or digest_items(document.text, section.items))


def _each_row(section: AicfSection, make: Callable[[Sequence[str]], MemoryDraft]) -> Iterator[FilePiece]:
    """Yield one piece per row, and one for the items between two rows."""
    between: list[AicfItem] = []
    for item in section.items:
        if item.kind not in ROWS or not item.raw.strip():
            between.append(item)
            continue
        if between:
            yield _piece(section, between)
            between = []
        values = older_spellings.strip_bullet(item.values) if item.kind is ItemKind.TEXT else item.values
        made = make(values)
        yield _piece(section, [item], made, _identity(made) or _digest(item.raw))
    if between:
        yield _piece(section, between)


def _watched_header(section: AicfSection) -> tuple[str, str]:
    """Return identifier and time of `@CONVERSATION|id|time`."""
    cells = next((item.cells for item in section.items if item.kind is ItemKind.HEADER), [])
    return section.ident, next((cell for cell in cells if normalize_time(cell)), "")


def _watched_row(ident: str, time: str, cells: Sequence[str]) -> MemoryDraft:
    """Draft a line of a file that was written while the conversation went on. Its first cell names the kind."""
    kind, rest = cells[0], cells[1:]
    if kind == "exchange":
        return memory_drafts.draft_message_row(["", *rest])
    if kind == "topic":
        made = memory_drafts.draft_watched_topic(ident, "|".join(rest), time)
    else:
        makers = {"insight": memory_drafts.draft_insight, "decision": memory_drafts.draft_decision}
        made = makers[kind](rest) if kind in makers else memory_drafts.draft_message_row(["", "", kind, *rest])
    return made._replace(own={**made.own, "line": kind}, event=made.event or normalize_time(time))


def _spoken_row(cells: Sequence[str]) -> MemoryDraft:
    """Draft a line `[time] role: words` of a conversation; other lines become messages without time and role."""
    line = "|".join(cells)
    return memory_drafts.draft_message_row(["", *(older_spellings.parse_spoken_line(line) or ("", "", line))])


def _numbered(section: AicfSection) -> Iterator[FilePiece]:
    """Yield each decision or insight of numbered fields."""
    kind = aicf_mapping.DECISION if section.name.startswith("DECISION") else aicf_mapping.INSIGHT
    for found in older_spellings.split_numbered_fields(section):
        if isinstance(found, older_spellings.NumberedFields):
            made = memory_drafts.draft_numbered_fields(kind, found.fields)
            yield _piece(section, found.items, made, found.items[0].key)
        else:
            yield _piece(section, found)


def _xml(section: AicfSection) -> Iterator[FilePiece]:
    """Yield each part of an XML file that has text, and the markup between."""
    for item in section.items:
        made = memory_drafts.draft_xml_part(item.value, item.data) if item.kind is ItemKind.TEXT else None
        yield _piece(section, [item], made, (made and _identity(made)) or _digest(item.raw))


def _identity(made: MemoryDraft) -> str:
    return str(made.own.get("ident") or "")


def _state(section: AicfSection) -> Iterator[FilePiece]:
    """Yield the state of a conversation as one memory, and each key of a user's or application's state as one. A prefix
    of the key takes precedence over the scope of the section."""
    scope = section.ident.strip().lower()
    pairs = section.pairs()
    if "scope" in pairs and "key" in pairs and "value" in pairs:
        scope, key = pairs["scope"].value.strip().lower(), pairs["key"].value
        is_kept = scope in KEYED_SCOPES
        yield _piece(
            section,
            section.items,
            memory_drafts.draft_state_key(scope, key, pairs["value"].value) if is_kept else None,
            key,
        )
        return
    # Keys of the session form one memory; all text up to the first keyed item belongs to it.
    own = {key: item for key, item in pairs.items() if find_key_scope(key, scope) in SESSION_SCOPES}
    made = memory_drafts.draft_state(own) if own else None
    items = section.items
    at = next((place for place, item in enumerate(items) if _keyed(item, scope) is not None), len(items))
    if at:
        yield _piece(section, items[:at], made, section.ident)
    for group in _runs(items[at:], scope):
        keyed = _keyed(group[0], scope)
        yield _piece(
            section, group, memory_drafts.draft_state_key(*keyed) if keyed else None, keyed[1] if keyed else ""
        )


def _runs(items: Sequence[AicfItem], scope: str) -> Iterator[list[AicfItem]]:
    """Yield each keyed item alone, and the items between as groups."""
    between: list[AicfItem] = []
    for item in items:
        if _keyed(item, scope) is None:
            between.append(item)
            continue
        if between:
            yield between
            between = []
        yield [item]
    if between:
        yield between


def find_key_scope(key: str, scope: str) -> str:
    """Return the scope of a key, given the scope of its section."""
    prefix, colon, _ = key.partition(":")
    return prefix if colon and prefix in (*KEYED_SCOPES, "temp") else scope


def _keyed(item: AicfItem, scope: str) -> tuple[str, str, str] | None:
    """Return scope, key and value of an item that is a separate memory."""
    if item.kind is ItemKind.PAIR:
        found = find_key_scope(item.key, scope)
        return (found, item.key, item.value) if found in KEYED_SCOPES else None
    cells = item.values if item.kind is ItemKind.CELLS else []
    return (cells[0], cells[1], "|".join(cells[2:])) if len(cells) >= 3 and cells[0] in KEYED_SCOPES else None


def _json(section: AicfSection) -> Iterator[FilePiece]:
    """Yield consecutive messages as one memory, and every other value of a list as one."""
    group: list[AicfItem] = []
    for item in section.items:
        is_message = item.kind is ItemKind.JSON and item.key == "messages"
        if group and not is_message and item.kind is ItemKind.JSON:
            yield from _transcript(section, group)
            group = []
        if is_message or group:
            group.append(item)
        else:
            yield _json_value(section, item)
    if group:
        yield from _transcript(section, group)


def _transcript(section: AicfSection, group: list[AicfItem]) -> Iterator[FilePiece]:
    last = max(place for place, item in enumerate(group) if item.kind is ItemKind.JSON)
    messages = [item.data for item in group if item.kind is ItemKind.JSON]
    yield _piece(section, group[: last + 1], memory_drafts.draft_transcript(messages), _digest(group[0].raw))
    if group[last + 1 :]:
        yield _piece(section, group[last + 1 :])


def _json_value(section: AicfSection, item: AicfItem) -> FilePiece:
    made = memory_drafts.draft_json_value(item.key, item.data) if item.kind is ItemKind.JSON else None
    return _piece(section, [item], made, _digest(item.raw))


def _verbatim(document: AicfDocument, section: AicfSection) -> FilePiece:
    """Return an unknown or free-text section as one memory with its lines as they stand."""
    text = strip_section_lines(document.text, section.items)
    kind = aicf_mapping.TEXT if section.name in _FREE or not section.name else aicf_mapping.UNKNOWN
    own: JsonObject = {"name": section.name} if section.name else {}
    if section.name == _MESSAGE and section.ident:
        own["role"] = section.ident.strip().lower()
    topic = older_spellings.topic_in(section)
    fields: JsonObject = {"tags": [f"topic:{topic}"]} if topic else {}
    made = MemoryDraft(kind, text, fields, own) if text.strip() else None
    return _piece(section, section.items, made, section.ident or digest_items(document.text, section.items))


def strip_section_lines(text: str, items: Sequence[AicfItem]) -> str:
    """Return the lines of a section without header, line numbers and surrounding blank lines."""
    return "\n".join(line for item in trim_items(items) for line in lines_of(text, item))


def trim_items(items: Sequence[AicfItem]) -> list[AicfItem]:
    """Return the items of a section without header, and without surrounding ones that hold no content."""
    body = [item for item in items if item.kind not in (ItemKind.HEADER, ItemKind.END)]
    says = [place for place, item in enumerate(body) if item.kind not in NOTHING]
    return body[says[0] : says[-1] + 1] if says else []


def lines_of(text: str, item: AicfItem) -> list[str]:
    """Return the lines of an item without numbers and terminators. A backslash that keeps `@` from beginning a header
    is dropped."""
    whole = text[item.start : item.end]
    if item.number is not None:
        whole = _NUMBER.sub("", whole, count=1)
    for end in ("\r\n", "\n", "\r"):
        if whole.endswith(end):
            whole = whole[: -len(end)]
            break
    return [
        _ESCAPED_SIGN.sub("", line, count=1) if line.startswith("\\") else line
        for line in re.split("\r\n|\n|\r", whole)
    ]


def own_span(text: str, item: AicfItem) -> tuple[int, int]:
    """Return the span of an item without its line number and line terminator."""
    number = _NUMBER.match(text, item.start, item.end) if item.number is not None else None
    start, end = number.end() if number else item.start, item.end
    while end > start and text[end - 1] in "\r\n":
        end -= 1
    return start, end


def digest_items(text: str, items: Sequence[AicfItem]) -> str:
    """Return a digest of the lines of a block, which identifies a block without an identifier."""
    return _digest("\n".join(line for item in items for line in lines_of(text, item)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _place(pieces: Sequence[FilePiece]) -> None:
    """Set handles and headings, and the conversation, session and user of each memory."""
    seen: Counter[str] = Counter()
    ordinals: Counter[str] = Counter()
    sessions = [piece for piece in pieces if piece.made is not None and piece.made.kind == aicf_mapping.SESSION]
    only = sessions[0] if len(sessions) == 1 else None
    session, conversation = only, None
    clock: str | None = None
    for piece in pieces:
        clock = clock_of(piece.section) or clock
        if piece.made is None:
            continue
        if piece.made.event is None:
            # Fields of a section are a piece's own only if it covers the whole section.
            is_whole = len(piece.items) == len(piece.section.items)
            stated = stated_time(piece.section) if is_whole else None
            piece.made = piece.made._replace(event=stated or clock)
        if piece.made.kind == aicf_mapping.SESSION:
            session = only or piece
        elif piece.made.kind == aicf_mapping.CONVERSATION:
            conversation = piece
        elif conversation is not None and piece.made.kind not in _OF_NO_CONVERSATION:
            piece.conversation = conversation
        piece.session = session.section.ident if session is not None else ""
        piece.user = str(session.made.own.get("user_id") or "") if session is not None and session.made else ""
        name = f"{piece.section.name}\0{piece.key}"
        seen[name] += 1
        ordinals[piece.section.name] += 1
        piece.handle = f"{piece.section.name}:{piece.key}" + (f"#{seen[name]}" if seen[name] > 1 else "")
        piece.heading = _heading(piece, ordinals[piece.section.name], seen[name])


_OF_NO_CONVERSATION = (
    aicf_mapping.SESSION,
    aicf_mapping.CONVERSATION,
    aicf_mapping.USER_STATE,
    aicf_mapping.APP_STATE,
    aicf_mapping.CONSOLIDATION,
)


def _heading(piece: FilePiece, ordinal: int, copy: int) -> tuple[str, ...]:
    """Return how a piece is recognised: by its name if it has one, else by its position and the cells beside its
    text."""
    if piece.section.ident and len(piece.items) > 1 and piece.section.name != "STATE":
        return (piece.section.name, piece.section.ident, str(copy))
    if piece.made is not None and piece.made.kind in (aicf_mapping.USER_STATE, aicf_mapping.APP_STATE):
        return (piece.section.name, piece.key, str(copy))
    first = piece.items[0]
    beside = first.cells[1:] if first.kind in ROWS else []
    return (piece.section.name, str(ordinal), *beside)


_ROW_MAKERS: dict[
    str, tuple[Callable[[Sequence[str]], MemoryDraft], Callable[[str, memory_drafts.Pairs], MemoryDraft]]
] = {
    "CONVERSATION": (memory_drafts.draft_message_row, memory_drafts.draft_conversation),
    **dict.fromkeys(("INSIGHTS", "INSIGHT"), (memory_drafts.draft_insight, memory_drafts.draft_insight_block)),
    **dict.fromkeys(("DECISIONS", "DECISION"), (memory_drafts.draft_decision, memory_drafts.draft_decision_block)),
    "MEMORY": (memory_drafts.draft_memory_row, memory_drafts.draft_memory_block),
    "WORK": (memory_drafts.draft_work_row, memory_drafts.draft_work_block),
}
_BLOCK_MAKERS: dict[str, Callable[[str, memory_drafts.Pairs], MemoryDraft]] = {
    "SESSION": memory_drafts.draft_session,
    "CONSOLIDATION": memory_drafts.draft_consolidation,
}
