"""Find the text of the specifications that some tests compare with.

It is not part of the project. Tests that need it are skipped where it is missing. The published schemas of ALF are in
`support/alf/schemas`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.paths import ROOT

VARIABLE = "LIFEBOAT_REFERENCE"


def folder() -> Path | None:
    """Return the folder named by LIFEBOAT_REFERENCE, or the folder `shared` beside the checkout, or None."""
    named = os.environ.get(VARIABLE)
    candidate = Path(named) if named else ROOT.parent / "shared"
    return candidate if candidate.is_dir() else None


def require(*parts: str) -> Path:
    """Return a file or folder of the reference material. Skips the test if it is missing."""
    found = folder()
    if found is None:
        pytest.skip(f"no reference material here: set {VARIABLE} to its folder")
    path = found.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the reference material has no {'/'.join(parts)}")
    return path
