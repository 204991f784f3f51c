"""The path of a project as Claude Code writes it: as the name of a folder, and as text in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from lifeboat_adapters.folder.profile_rendering import path_slug

PROJECTS, MEMORY = "projects", "memory"
"""The folder with a folder for each project, and the folder in that with its memories."""

CWD = b'"cwd":'
"""The key of a line of a transcript with the folder in which the session ran."""

_LONGEST = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_slug(path: str) -> str:
    """Return the name of the folder of a project."""
    slug = path_slug(path)
    if len(slug) <= _LONGEST:
        return slug
    number = 0
    for unit in memoryview(path.encode("utf-16-le", "surrogatepass")).cast("H"):
        number = (number * 31 + unit) & 0xFFFFFFFF
    number = abs(number - (1 << 32) if number >= 1 << 31 else number)
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return f"{slug[:_LONGEST]}-{digits or '0'}"


def map_slug(slug: str, old: str, new: str) -> str:
    """Return the name of a project's folder after `old` became `new`. A shortened name of a project below `old` cannot
    be computed and stays."""
    before, after = project_slug(old), project_slug(new)
    if slug == before:
        return after
    is_below = slug.startswith(f"{before}-") and len(slug) <= _LONGEST
    return after + slug.removeprefix(before) if is_below else slug


def map_project_folder(name: str, old: str, new: str) -> str:
    """Return the name of a file of the home after the folder `old` became `new`."""
    first, _, rest = name.partition("/")
    slug, slash, below = rest.partition("/")
    return f"{first}/{map_slug(slug, old, new)}{slash}{below}" if first == PROJECTS else name


def replace_path(data: bytes, old: str, new: str, *, key: bytes = b"") -> bytes:
    """Return JSON in which every text that is a path, or begins with it as a folder, has the new one. Everything else
    keeps its bytes. `key` limits this to the values of one key."""
    before, after = (json.dumps(path, ensure_ascii=False)[1:-1].encode() for path in (old, new))
    pattern = rb"(?<!\\)(" + re.escape(key) + (rb"\s?" if key else b"") + rb'")' + re.escape(before) + rb'(?=["/])'
    return re.sub(pattern, lambda found: found[1] + after, data)


def map_path(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a path after each first folder of a pair became the second one. The first pair that fits counts."""
    fits = ((old, new) for old, new in pairs if path == old or path.startswith(f"{old}/"))
    old, new = next(fits, ("", ""))
    return new + path.removeprefix(old)
