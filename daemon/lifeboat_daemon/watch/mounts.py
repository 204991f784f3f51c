"""File systems that say nothing of changes made elsewhere: what lies on them is looked through in place of watched."""

from __future__ import annotations

import os

from lifeboat_daemon.home import file_system_at

_SILENT = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "davfs", "ncpfs", "ceph", "glusterfs", "beegfs", "lustre"),
        *("9p", "v9fs", "drvfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs"),
    )
)
"""Networks, and folders of a host in its guest (WSL has those of Windows as 9p or drvfs)."""
_FUSE = "fuse."


def silent(folder: str) -> str | None:
    """The type of the file system of a folder when it is one of these; None for any other. A folder that is named by
    its real path is not touched: a server that does not answer would never let go."""
    return _silent(folder) or _silent(os.path.realpath(folder))


def _silent(path: str) -> str | None:
    kind = file_system_at(path)
    return kind if kind is not None and (kind in _SILENT or kind.startswith(_FUSE)) else None
