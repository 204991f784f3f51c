"""Find memories in the files of runtimes that have their own spelling."""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.errors import UnknownRuntime
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.purging.purge_planner import Pieces
from lifeboat_alf.purging.purge_terms import Span
from lifeboat_core.home.context import Context


def pieces_of(context: Context) -> Pieces:
    """Return the function that `plan_cuts` calls for files. Files of unknown runtimes and binary files have no
    pieces."""

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
    """Convert a span to bytes, including the line end if the line has nothing else."""
    start, end = span
    if text[end : end + 1] == "\n" and text[start - 1 : start] in ("", "\n"):
        end += 1
    first = len(text[:start].encode())
    return first, first + len(text[start:end].encode())
