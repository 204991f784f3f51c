"""An import as a process that a test can kill: `python ... ADDRESS NOTES COUNT`. Its notes are a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lifeboat_formats.aionforge.aionforge_format import FORMAT
from support.formats.aionforge_instances import around, memories


class Kept(dict[str, Any]):
    """Notes that are written to a file as soon as they are set."""

    def __init__(self, path: Path) -> None:
        super().__init__(json.loads(path.read_text()) if path.is_file() else {})
        self.path = path

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        waiting = self.path.with_suffix(".new")
        waiting.write_text(json.dumps(self))
        waiting.replace(self.path)


def texts(count: int) -> list[str]:
    return [f"Memory number {number}." for number in range(count)]


if __name__ == "__main__":
    state = memories(*texts(int(sys.argv[3])))
    FORMAT.send(state, sys.argv[1], {}, around(Kept(Path(sys.argv[2]))))
