"""Check the home: it exists, is private and readable, and its settings are valid."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument

TITLE = "Home and settings"


def check(context: Context) -> Iterator[DoctorFinding]:
    """Check the content of the home. `Context.open` has already refused an unsafe home."""
    yield DoctorFinding(
        DoctorLevel.OK, str(context.home.folder), "the home directory is private and has the layout of this release"
    )
    if context.home.is_read_only:
        result = (
            "the home directory is read-only: sequences can be read and restored to another place, but no "
            "changes are captured"
        )
        yield DoctorFinding(DoctorLevel.ERROR, str(context.home.folder), result)
    for folder in () if context.home.is_read_only else context.home.unusable_folders():
        result = (
            "this user has no read and write access to the directory, or the disk is read-only: no changes are captured"
        )
        yield DoctorFinding(DoctorLevel.ERROR, str(folder), result, f"chmod u+rwx {quote_argument(str(folder))}")
    problem = context.config().problem
    if problem:
        result = f"{problem.detail}; the last valid settings are in use"
        yield DoctorFinding(DoctorLevel.ERROR, problem.file, result, f"edit {context.home.folder / problem.file}")
    else:
        yield DoctorFinding(DoctorLevel.OK, "config.toml", "understood")
