"""When a loss looks like an accident. A client and an endpoint decide by the same rules."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas

MOST_OF_THE_FILES = 0.8
"""An agent makes and removes files that are no memories all the time: a smaller share than this says nothing."""
IGNORE_FILE = ".lifeboatignore"


class MassRemovalLimits(NamedTuple):
    """From which share of the memory on, and from how many memories on, a loss counts. Where there are fewer than
    `minimum`, the loss of all of them counts."""

    share: float = 0.5
    minimum: int = 4


def is_memory_loss(before: int, created: int, deleted: int, limits: MassRemovalLimits) -> bool:
    """Return whether this looks like an accident: `deleted` of `before` memories, where `created` others came."""
    is_all = deleted == before > 1 and not created
    is_much = deleted >= limits.minimum and deleted >= limits.share * before and deleted > created
    return is_all or is_much


def is_file_loss(before: int, created: int, deleted: int, limits: MassRemovalLimits) -> bool:
    """As `is_memory_loss`, for the files of a workspace. Files that came make up for files that went: a folder was
    renamed."""
    gone = deleted - created
    is_much = gone >= limits.minimum and gone >= max(limits.share, MOST_OF_THE_FILES) * before
    return is_much or gone == before > 1


def is_workspace_file(path: str, meta: JsonObject, runtime: str) -> bool:
    """Return whether an entry is a file of the workspace. The runtime's own files are not among them, which an ignore
    file does not cover, nor is the ignore file itself, which must not make up for a file that it hides."""
    is_own = path.startswith(archive_layout.home_prefix(runtime)) or path.rpartition("/")[2] == IGNORE_FILE
    return path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)) and not is_own and entry_metas.is_file(meta)
