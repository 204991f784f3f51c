"""The JSON of `lifeboat doctor`, and the report that `doctor --bundle` writes."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """What a check found."""

    check: str = ""
    """which check"""
    title: str = ""
    """what it looks at"""
    level: str = "ok"
    """`ok`, `warning` or `error`"""
    subject: str = ""
    """of what"""
    result: str = ""
    """what it found"""
    fix: str | None = None
    """a command that helps, or null"""


class Examination(msgspec.Struct, frozen=True):
    """The document of `doctor`."""

    ok: bool = True
    """whether nothing is broken"""
    findings: tuple[Finding, ...] = ()


class Part(msgspec.Struct, frozen=True):
    """A file in the bundle."""

    name: str
    """a file in it"""
    what: str = ""
    """what that file tells"""


class Bundle(msgspec.Struct, frozen=True):
    """The document of `doctor --bundle`."""

    path: str = ""
    """the file that was written"""
    bytes: int = 0
    """its size"""
    parts: tuple[Part, ...] = ()
