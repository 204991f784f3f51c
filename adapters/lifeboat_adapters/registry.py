"""The adapters that are installed, found by the entry point group `lifeboat.adapters`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.errors import NotAWorkspace, UnknownRuntime

GROUP = "lifeboat.adapters"


@cache
def _loaded() -> dict[str, Adapter]:
    return {point.name: point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def adapters() -> dict[str, Adapter]:
    """Every installed adapter by the name of its runtime, sorted."""
    return dict(_loaded())


def adapter(runtime: str) -> Adapter:
    """The adapter of a runtime. Raises UnknownRuntime, which names those that are there."""
    found = _loaded().get(runtime)
    if found is None:
        raise UnknownRuntime(f"{runtime!r} is none of: {', '.join(_loaded()) or 'nothing is installed'}")
    return found


def recognise(workspace: Path) -> Adapter:
    """The adapter whose runtime a folder is most surely of. Raises NotAWorkspace when there is none, or more than
    one."""
    sure = {candidate.runtime: candidate.recognises(workspace) for candidate in _loaded().values()}
    best = max(sure.values(), default=0)
    found = [candidate for candidate in _loaded().values() if best and sure[candidate.runtime] == best]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotAWorkspace(f"{workspace} looks like the workspace of no known runtime ({', '.join(_loaded())})")
    names = " and ".join(candidate.runtime for candidate in found)
    raise NotAWorkspace(f"{workspace} could be a workspace of {names}", fix="lifeboat agents add --runtime R DIR")
