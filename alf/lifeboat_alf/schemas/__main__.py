"""Write the schemas beside this file."""

from __future__ import annotations

from pathlib import Path

from lifeboat_alf.schemas import write_all

write_all(Path(__file__).parent)
