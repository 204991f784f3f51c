"""Find the installed adapters by the entry point group `lifeboat.adapters`. Each is imported only when it is asked for,
so that one runtime does not load the code of the others."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.errors import NotAWorkspace, UnknownRuntime
from lifeboat_adapters.foreign_runtimes import refuse_foreign_runtime

GROUP = "lifeboat.adapters"


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


@cache
def _loaded(runtime: str) -> Adapter:
    adapter: Adapter = _points()[runtime].load()
    return adapter


def list_runtimes() -> list[str]:
    """Return the names of the runtimes that have an adapter, sorted."""
    return list(_points())


def load_adapters() -> dict[str, Adapter]:
    """Return every installed adapter by the name of its runtime, sorted. Raises AdapterOutdated."""
    return {runtime: _loaded(runtime) for runtime in list_runtimes()}


def load_adapter(runtime: str) -> Adapter:
    """Return the adapter of a runtime. Raises UnknownRuntime, which names the known runtimes, and AdapterOutdated."""
    if runtime not in _points():
        raise UnknownRuntime(f"{runtime!r} is none of: {', '.join(list_runtimes()) or 'nothing is installed'}")
    return _loaded(runtime)


def recognise_workspace(workspace: Path) -> Adapter:
    """Return the adapter of the runtime that a folder most certainly belongs to.

    Raises NotAWorkspace when there is no such runtime or more than one. Raises ForeignWorkspace, which names the
    runtime, when the folder belongs to one without an adapter.
    """
    sure = {runtime: candidate.recognises(workspace) for runtime, candidate in load_adapters().items()}
    best = max(sure.values(), default=0)
    found = [runtime for runtime in sure if best and sure[runtime] == best]
    if len(found) == 1:
        return load_adapter(found[0])
    if not found:
        refuse_foreign_runtime(workspace)
        known = ", ".join(list_runtimes())
        raise NotAWorkspace(
            f"{workspace} looks like the workspace of no known runtime ({known}); if it is one, name it with --runtime"
        )
    raise NotAWorkspace(
        f"{workspace} could be a workspace of {' and '.join(found)}", fix="lifeboat agents add --runtime R DIR"
    )
