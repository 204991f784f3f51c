"""The kind of remotes that are a folder: `file:///media/you/stick/lifeboat`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes.contract import RemoteConfig

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote


def has_folder_remote(url: str) -> bool:
    """Whether any second copy lies at an address. May take long where a share hangs."""
    from lifeboat_core.remotes.sealed.folder_files import ROOT_FILE

    return (_root(url) / ROOT_FILE).is_file()


def _root(url: str) -> Path:
    return Path(_path_of(url))


def _path_of(url: str) -> str:
    """Bytes that are no UTF-8 stay what they are."""
    return unquote(urlsplit(url).path, errors="surrogateescape")


class FolderKind:
    """See `folder_files`."""

    def check_url(self, url: str) -> str:
        """`file:///absolute/path`; nothing of the folder is looked at. Raises BadSetting."""
        parts = urlsplit(url)
        path = _path_of(url)
        wrong = parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.query or parts.fragment
        if wrong or not Path(path).is_absolute() or "\0" in path:
            raise BadSetting(f"{url!r} is not the address of a folder: file:///absolute/path")
        return "file://" + quote(os.fsencode(path.rstrip("/") or "/"))

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        from lifeboat_core.remotes.sealed.folder_files import FolderFiles
        from lifeboat_core.remotes.sealed.sealed_log_setup import FolderLog

        root = _root(config.url)
        files = FolderFiles(root, config.id, context.files, context.clock, sealed=config.sealed)
        return FolderLog(context, files, sealed=config.sealed, name=config.name)

    def readable_by(self, config: RemoteConfig) -> str:
        if not config.sealed:
            return (
                "Whoever gets hold of the folder can read everything but credentials, "
                "which open with your key only: it is kept in clear."
            )
        return (
            "Whoever gets hold of the folder can read nothing of your agents: only how many states there are, when "
            "each was made, and how large it is."
        )


REMOTE_KIND = FolderKind()
