"""Check the home: it exists, is private and readable, and its settings are valid."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument

TITLE = "Home and settings"


def check(context: Context) -> Iterator[DoctorFinding]:
    """Check the content of the home. `Context.open` has already refused an unsafe home."""
    yield DoctorFinding(DoctorLevel.OK, str(context.home.folder), "private, and in this release's layout")
    if context.home.is_read_only:
        result = "read-only: existing sequences can be read and restored elsewhere, but nothing is captured"
        yield DoctorFinding(DoctorLevel.ERROR, str(context.home.folder), result)
    for folder in () if context.home.is_read_only else context.home.unusable_folders():
        result = "this user cannot read and write it, or the disk is read-only: nothing is captured"
        yield DoctorFinding(DoctorLevel.ERROR, str(folder), result, f"chmod u+rwx {quote_argument(str(folder))}")
    problem = context.config().problem
    if problem:
        result = f"{problem.detail}; the last valid settings are in use"
        yield DoctorFinding(DoctorLevel.ERROR, problem.file, result, f"edit {context.home.folder / problem.file}")
    else:
        yield DoctorFinding(DoctorLevel.OK, "config.toml", "understood")
