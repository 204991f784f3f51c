"""The kind of remotes that are folders: `file:///media/you/stick/lifeboat`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote


def make_folder_url(folder: Path) -> str:
    """Return the address of the remote in a folder."""
    return "file://" + quote(os.fsencode(folder))


def _path_of(url: str) -> str:
    """Return the path in an address. Bytes that are not UTF-8 are kept as they are."""
    return unquote(urlsplit(url).path, errors="surrogateescape")


class FolderKind(RemoteKind):
    """A folder on another disk, a stick or a share, as `folder_files` describes it."""

    name = "folder"
    is_sealed_by_default = True
    access_advice = "no token is needed: the folder and these words give access to everything"
    unreachable_fix = "df -h"

    def check_url(self, url: str) -> str:
        """Return `file:///absolute/path` in its normal form without a look at the folder. Raises BadSetting."""
        parts = urlsplit(url)
        path = _path_of(url)
        wrong = parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.query or parts.fragment
        if wrong or not Path(path).is_absolute() or "\0" in path:
            raise BadSetting(f"{url!r} is not the URL of a folder; expected file:///ABSOLUTE/PATH")
        return make_folder_url(Path(path))

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        from lifeboat_core.remotes.sealed.folder_files import FolderFiles
        from lifeboat_core.remotes.sealed.sealed_log_setup import RemovableLog

        root = Path(_path_of(self.check_url(config.url)))
        files = FolderFiles(root, config.id, context.files, context.clock, sealed=config.sealed)
        return RemovableLog(context, files, kind=self.name, sealed=config.sealed, name=config.name)

    def readable_by(self, config: RemoteConfig) -> str:
        if not config.sealed:
            return (
                "The folder is not encrypted. Anyone who can read it can read everything except credentials, which "
                "only your key opens."
            )
        return (
            "The folder is encrypted. Without your key, only the number of sequences, their times and their sizes can "
            "be read."
        )

    def needs_network(self, url: str) -> bool:
        return False

    def is_present(self, url: str) -> bool:
        from lifeboat_core.remotes.sealed.folder_files import ROOT_FILE

        return (Path(_path_of(url)) / ROOT_FILE).is_file()

    def shares_disk(self, url: str, folder: Path) -> bool:
        try:
            return os.stat(_path_of(url)).st_dev == os.stat(folder).st_dev
        except (OSError, ValueError):  # an unplugged disk is another one
            return False


REMOTE_KIND = FolderKind()
