"""Refuse names that no restore and no import writes, because no capture takes them.

A forged state may contain them. `.git/config` names programs that the next `git status` runs, and a file `.git` leads
Git to any folder of the workspace. The workspace itself can look like a repository too, so `HEAD` is not written:
without it Git does not take the folder for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.exclusion_rules import VERSION_CONTROL, is_version_control, repository_heads
from lifeboat_alf.archive import archive_layout
from lifeboat_core.restore.wanted_contents import FOLDER, WantedFile


def find_top_level_heads(names: Iterable[str]) -> frozenset[str]:
    """Return the names, of all in a workspace, that would make the workspace itself a repository."""
    return repository_heads({name.partition("/")[0] for name in names})


def reason_against(wanted: WantedFile, adapter: Adapter, heads: Collection[str] = ()) -> str:
    """Return why a name of the workspace is never written, "" when it may be. `heads` is from
    `find_top_level_heads`."""
    if wanted.name in heads or any(map(is_version_control, wanted.name.split("/"))):
        return VERSION_CONTROL
    prefix = archive_layout.raw_prefix(adapter.runtime)
    return adapter.exclusion(prefix + wanted.name, is_folder=wanted.kind == FOLDER) or ""
