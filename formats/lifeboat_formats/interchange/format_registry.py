"""The installed formats, found by the entry point group `lifeboat.formats` and imported when used."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from lifeboat_formats.interchange.contract import Format
from lifeboat_formats.interchange.errors import UnknownFormat

GROUP = "lifeboat.formats"
HEAD = 64 * 1024
"""Bytes of a source by which it is recognised."""


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


@cache
def _loaded(name: str) -> Format:
    found: Format = _points()[name].load()
    return found


def list_formats() -> list[str]:
    """Return the names of the formats, sorted."""
    return list(_points())


def load_format(name: str) -> Format:
    """Load a format by name. Raises UnknownFormat, which lists the known names."""
    if name not in _points():
        raise UnknownFormat(
            f"the format {name!r} is not installed; the installed formats are: {', '.join(list_formats()) or 'none'}"
        )
    return _loaded(name)


def detect_format(source: str) -> Format:
    """Detect the format of a file or an address. Raises UnknownFormat if none or several match; OSError for an
    unreadable file."""
    head = b"" if "://" in source or source.startswith("stdio:") else _head(Path(source))
    found = [name for name in list_formats() if _loaded(name).recognises(source, head)]
    if len(found) == 1:
        return _loaded(found[0])
    if found:
        raise UnknownFormat(
            f"the format of {source} is not clear: it could be {' or '.join(found)}",
            fix="lifeboat alf convert --from FORMAT",
        )
    raise UnknownFormat(f"{source} is not a file in a known format ({', '.join(list_formats())})")


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(HEAD)
