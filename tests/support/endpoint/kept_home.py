"""Homes of earlier releases, stored as text: every later release has to open them.

`kept_homes/layout_1.txt` is a tar archive (xz, base64) of `lifeboat/` (the home: agent Juniper, sequences 0 to 2,
schema 1 of vaults, key in an unprotected file), `openclaw.json` and `expected/`, the workspace at the head. All of it
is invented. A release that changes the layout or the schema adds a home of its predecessor.
"""

from __future__ import annotations

import base64
import io
import tarfile
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "kept_homes"
LAYOUTS = sorted(int(path.stem.removeprefix("layout_")) for path in _FOLDER.glob("layout_*.txt"))


def unpack(layout: int, folder: Path) -> Path:
    """Unpack a home of this layout into a new folder; return it."""
    data = base64.b64decode((_FOLDER / f"layout_{layout}.txt").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as archive:
        archive.extractall(folder, filter="tar")
    home = folder / "lifeboat"
    home.chmod(0o700)
    return home
