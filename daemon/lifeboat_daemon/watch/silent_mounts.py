"""File systems that do not report changes made elsewhere. What lies on them is scanned instead of watched."""

from __future__ import annotations

import os

from lifeboat_core.home.lifeboat_home import list_mounts, match_file_system

_SILENT = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "davfs", "ncpfs", "ceph", "glusterfs", "beegfs", "lustre"),
        *("9p", "v9fs", "drvfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs"),
    )
)
"""Network file systems, and directories of a host in its guest (WSL mounts those of Windows as 9p or drvfs)."""
_FUSE = "fuse."


class MountTable:
    """The mounted file systems at one time."""

    def __init__(self) -> None:
        self._mounted = list_mounts()

    def silent(self, folder: str) -> str | None:
        """Return the type of the file system of a directory if it does not report changes, otherwise None. A real path
        is not touched, because a server that does not answer would block forever."""
        try:
            return self._silent(folder) or self._silent(os.path.realpath(folder))
        except ValueError:  # It is not a valid path.
            return None

    def _silent(self, path: str) -> str | None:
        kind = match_file_system(path, self._mounted)
        return kind if kind is not None and (kind in _SILENT or kind.startswith(_FUSE)) else None
