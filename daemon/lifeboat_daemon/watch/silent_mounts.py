"""File systems that say nothing of changes made elsewhere: what lies on them is looked through in place of watched."""

from __future__ import annotations

import os

from lifeboat_core.home.lifeboat_home import list_mounts, match_file_system

_SILENT = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "davfs", "ncpfs", "ceph", "glusterfs", "beegfs", "lustre"),
        *("9p", "v9fs", "drvfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs"),
    )
)
"""Networks, and folders of a host in its guest (WSL has those of Windows as 9p or drvfs)."""
_FUSE = "fuse."


class MountTable:
    """What is mounted at one moment."""

    def __init__(self) -> None:
        self._mounted = list_mounts()

    def silent(self, folder: str) -> str | None:
        """The type of the file system of a folder when it is one of these; None for any other. A folder that is named
        by its real path is not touched: a server that does not answer would never let go."""
        try:
            return self._silent(folder) or self._silent(os.path.realpath(folder))
        except ValueError:  # no path at all
            return None

    def _silent(self, path: str) -> str | None:
        kind = match_file_system(path, self._mounted)
        return kind if kind is not None and (kind in _SILENT or kind.startswith(_FUSE)) else None
