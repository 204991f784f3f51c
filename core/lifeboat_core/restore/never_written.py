"""Names that no restore and no import writes: what no capture takes either.

A state that somebody made by hand may hold them all the same. `.git/config` names programs that the next `git status`
runs, and a file `.git` leads Git to any folder of the workspace. A workspace can be a repository itself: then `HEAD` is
not written, without which Git takes it for none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.litter import VERSION_CONTROL, is_version_control, repository_heads
from lifeboat_alf import layout
from lifeboat_core.restore.contents import FOLDER, Wanted


def heads_at_top(names: Iterable[str]) -> frozenset[str]:
    """Return the names, of all of a workspace, that would make the workspace itself a repository."""
    return repository_heads({name.partition("/")[0] for name in names})


def reason_against(wanted: Wanted, adapter: Adapter, heads: Collection[str] = ()) -> str:
    """Return why a name of the workspace is never written, "" where it may be. `heads` as `heads_at_top` gives them."""
    if wanted.name in heads or any(map(is_version_control, wanted.name.split("/"))):
        return VERSION_CONTROL
    prefix = layout.raw_prefix(adapter.runtime)
    return adapter.exclusion(prefix + wanted.name, is_folder=wanted.kind == FOLDER) or ""
