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
    """The adapter whose runtime a folder looks like. Raises NotAWorkspace when there is none, or more than one."""
    found = [candidate for candidate in _loaded().values() if candidate.recognises(workspace)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotAWorkspace(f"{workspace} looks like the workspace of no known runtime ({', '.join(_loaded())})")
    names = " and ".join(candidate.runtime for candidate in found)
    raise NotAWorkspace(f"{workspace} could be a workspace of {names}", fix="lifeboat agents add --runtime R DIR")
