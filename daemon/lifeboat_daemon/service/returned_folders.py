"""Check whether missing directories of remotes are back, such as a removable disk. The check runs in a thread because a
network share may hang."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection

from lifeboat_core.home.context import Context


def look_for_folders(context: Context, names: Collection[str], tell: Callable[[dict[str, bool]], None]) -> None:
    """Check in a thread, then call `tell` in the running loop with the result of `find_present_folders`. `tell` is not
    called while a share hangs."""
    loop = asyncio.get_running_loop()

    def work() -> None:
        found: dict[str, bool] = {}
        try:
            found = find_present_folders(context, names)
        finally:
            with contextlib.suppress(RuntimeError):  # The loop has ended in the meantime.
                loop.call_soon_threadsafe(tell, found)

    threading.Thread(target=work, name="returning", daemon=True).start()


def find_present_folders(context: Context, names: Collection[str]) -> dict[str, bool]:
    """Return, for those of the named remotes that are directories, whether the remote exists."""
    from lifeboat_core.remotes import remote_registry
    from lifeboat_core.remotes.remote_kinds import find_installed_kind

    known = (one for one in remote_registry.list_usable_remotes(context) if one.name in names)
    found = ((one.name, kind.is_present(one.url)) for one in known if (kind := find_installed_kind(one.url)))
    return {name: is_present for name, is_present in found if is_present is not None}
