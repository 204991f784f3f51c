"""Where memories stand in the files of runtimes that spell them in their own way."""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.errors import UnknownRuntime
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.purging.purge_planner import Pieces
from lifeboat_alf.purging.purge_terms import Span
from lifeboat_core.home.context import Context


def pieces_of(context: Context) -> Pieces:
    """What `plan_cuts` asks of files. A file of a runtime that is not known here, and bytes that are no text, have
    none."""

    def pieces(path: str, body: bytes, listed: list[str], gone: frozenset[str]) -> list[Span]:
        adapter = _adapter(context, path)
        if adapter is None:
            return []
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return []
        return [_in_bytes(text, span) for span in adapter.pieces(path, text, listed, gone)]

    return pieces


def _adapter(context: Context, path: str) -> Adapter | None:
    folder, _, rest = path.partition("/")
    if f"{folder}/" != archive_layout.RAW:
        return None
    try:
        return context.adapter(rest.partition("/")[0])
    except UnknownRuntime:
        return None


def _in_bytes(text: str, span: Span) -> Span:
    """With the end of its line, where nothing else stands in it."""
    start, end = span
    if text[end : end + 1] == "\n" and text[start - 1 : start] in ("", "\n"):
        end += 1
    first = len(text[:start].encode())
    return first, first + len(text[start:end].encode())
