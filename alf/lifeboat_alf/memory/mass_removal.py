"""Decide when a loss of memories or files looks like an accident. Client and endpoint use the same rules."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas

MOST_OF_THE_FILES = 0.8
"""Minimum share of files. Agents create and remove ordinary files all the time, so a smaller share means nothing."""
IGNORE_FILE = ".lifeboatignore"


class MassRemovalLimits(NamedTuple):
    """Share and number of memories from which a loss counts. Of fewer memories than `minimum`, only the loss of all
    counts."""

    share: float = 0.5
    minimum: int = 4


def is_memory_loss(before: int, created: int, deleted: int, limits: MassRemovalLimits) -> bool:
    """Return whether a loss looks like an accident: `deleted` of `before` memories, where `created` new ones came."""
    is_all = deleted == before > 1 and not created
    is_much = deleted >= limits.minimum and deleted >= limits.share * before and deleted > created
    return is_all or is_much


def is_file_loss(before: int, created: int, deleted: int, limits: MassRemovalLimits) -> bool:
    """Return whether a loss of workspace files looks like an accident. New files offset lost ones, because a directory
    may have been renamed."""
    gone = deleted - created
    is_much = gone >= limits.minimum and gone >= max(limits.share, MOST_OF_THE_FILES) * before
    return is_much or gone == before > 1


def is_workspace_file(path: str, meta: JsonObject, runtime: str) -> bool:
    """Return whether an entry is a file of the workspace.

    The runtime's own files do not count, because ignore rules do not cover them. Neither does the ignore file, which
    must not offset a file that it hides.
    """
    is_own = path.startswith(archive_layout.home_prefix(runtime)) or path.rpartition("/")[2] == IGNORE_FILE
    return path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)) and not is_own and entry_metas.is_file(meta)
