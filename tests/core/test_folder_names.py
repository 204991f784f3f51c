"""A folder of the home that cannot be listed is an error, never an empty folder."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import manage_agents
from lifeboat_core.home import folder_names
from lifeboat_core.home.context import Context
from lifeboat_core.migrations import home_backups
from lifeboat_core.purge import histories, purge_folders, restore_receipts
from lifeboat_core.remotes import displaced_histories, remote_registry
from support.core.protected import Protected
from support.failing_files import FailingFiles

READERS: dict[str, tuple[str, Callable[[Context, str], object]]] = {
    "agents": ("agents", lambda context, _: agent_files.all_ids(context)),
    "remotes": ("remotes", lambda context, _: remote_registry.list_remote_names(context)),
    "agents that were purged": ("vault/erased", lambda context, _: purge_folders.list_purged_agent_ids(context)),
    "receipts of restores": ("restore/receipts", lambda context, _: restore_receipts.list_restore_receipts(context)),
    "histories of an agent": ("vault", histories.find_other_histories),
    "copies of histories": ("backups", histories.find_history_copies),
    "copies of documents": ("backups", histories.find_copied_documents),
    "histories that were set aside": ("vault", displaced_histories.list_displaced),
    "vaults of removed agents": (
        "vault",
        lambda context, _: manage_agents.is_known_workspace(context, Path("/nowhere")),
    ),
    "what a migration copies": (
        "keys",
        lambda context, _: home_backups.back_up_home(context, 1, [home_backups.BackupArea.KEYS]),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_folder_that_cannot_be_listed_is_no_empty_folder(ada: Protected, reader: str) -> None:
    place, read = READERS[reader]
    folder = ada.context.home.folder / place
    folder.mkdir(parents=True, exist_ok=True)
    context = ada.context
    refusing = FailingFiles(errno.EACCES, lambda name, path: name == "scan" and path == str(folder))
    broken = Context(context.home, refusing, context.clock, context.environment)
    with pytest.raises(OSError, match="Permission denied"):
        read(broken, ada.agent.id)


def test_a_folder_that_is_not_there_is_empty(ada: Protected, tmp_path: Path) -> None:
    files = ada.context.files
    assert folder_names.names_in(files, tmp_path / "none") == []
    assert folder_names.folders_in(files, tmp_path / "none") == []
    assert folder_names.paths_in(files, tmp_path / "none", ".json") == []
    assert not folder_names.is_there(files, tmp_path / "none" / "inner")
