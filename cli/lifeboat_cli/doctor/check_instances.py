"""Check the notes about running instances of other memory systems. Without them, memories would be sent there twice."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.exchange import instance_notes
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in

TITLE = "Instances of other memory systems"


def check(context: Context) -> Iterator[DoctorFinding]:
    """Yield nothing if nothing was ever sent."""
    for path in paths_in(context.files, context.home.instances_folder, ".json"):
        try:
            instance_notes.read_instance_notes(context.files, path)
        except LifeboatError as error:
            yield DoctorFinding(DoctorLevel.WARNING, path.name, error.message, error.fix)
        else:
            yield DoctorFinding(
                DoctorLevel.OK,
                path.name,
                "Lifeboat knows which memories it sent to this instance, and sends no memory twice",
            )
