"""Open the log in a store as a remote of this home."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.probed_store.probed_files import HomeSide, ProbedFiles
from lifeboat_core.remotes.probed_store.probed_log import ProbedLog
from lifeboat_core.remotes.probed_store.store_client import StoreClient
from lifeboat_vault.errors import RemoteBusy


def open_probed_log(
    context: Context,
    client: StoreClient,
    config: RemoteConfig,
    *,
    kind: str,
    place: str,
    tells_versions: bool = False,
    races: int = 1,
) -> ProbedLog:
    """Return the remote in the store behind `client` (see `ProbedFiles`). Nothing is sent."""
    home = HomeSide(
        context.files,
        context.clock,
        context.home.restore_folder / "tmp",
        lambda: context.keys().device.id,
        partial(_alone, context, config),
    )
    files = ProbedFiles(
        client, kind, place, config.id, home, sealed=config.sealed, tells_versions=tells_versions, races=races
    )
    return ProbedLog(context, files, kind=kind, sealed=config.sealed, name=config.name)


@contextmanager
def _alone(context: Context, config: RemoteConfig, agent_id: str) -> Iterator[None]:
    """Keep other processes of this home from replacing the head of an agent. Raises RemoteBusy."""
    from lifeboat_core.agents.locks import FILE_SECONDS, file_lock

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(file_lock(context, context.home.remotes_folder / f"{config.id}.{agent_id}", "push"))
        except Busy as error:
            raise RemoteBusy(error.message, retry_after=FILE_SECONDS) from error
        yield
