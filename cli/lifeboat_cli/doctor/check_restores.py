"""Find restores that a crash interrupted and that could not be finished yet."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in

TITLE = "Interrupted restores"


def check(context: Context) -> Iterator[DoctorFinding]:
    """Yield what is left. Every command tries to finish interrupted restores first."""
    left = paths_in(context.files, context.home.restore_folder, ".json")
    for path in left:
        yield DoctorFinding(
            DoctorLevel.ERROR,
            path.name,
            "a restore was interrupted and could not be finished",
            f"check {path}, then run: lifeboat doctor",
        )
    if not left:
        yield DoctorFinding(DoctorLevel.OK, "restores", "no restore was interrupted")
