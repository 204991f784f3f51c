"""Names that no restore and no import writes: what no capture takes either.

A state that somebody made by hand may hold them all the same. `.git/config` names programs that the next `git status`
runs, and a file `.git` leads Git to any folder of the workspace.
"""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.litter import VERSION_CONTROL, is_version_control
from lifeboat_alf import layout
from lifeboat_daemon.restore.contents import FOLDER, Wanted


def reason_against(wanted: Wanted, adapter: Adapter) -> str:
    """Return why a name of the workspace is never written, "" where it may be."""
    if any(map(is_version_control, wanted.name.split("/"))):
        return VERSION_CONTROL
    prefix = layout.raw_prefix(adapter.runtime)
    return adapter.exclusion(prefix + wanted.name, is_folder=wanted.kind == FOLDER) or ""
