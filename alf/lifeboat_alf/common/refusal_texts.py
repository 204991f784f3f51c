"""Describe operating system errors without error numbers and quoted paths."""

from __future__ import annotations

import os


def describe_refusal(error: BaseException) -> str:
    """Return what the system refused and why: "/srv/ada/notes: No space left on device". Other errors keep their
    text."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    paths = [_path_text(path) for path in (error.filename, error.filename2) if path is not None]
    return f"{' to '.join(paths)}: {error.strerror}" if paths else error.strerror


def refusal_reason(error: BaseException) -> str:
    """Return why the system refused, for a sentence that already names the path. Other errors keep their text."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _path_text(path: object) -> str:
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else f"descriptor {path}"
