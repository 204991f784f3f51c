"""The file operations of a machine on which an agent writes a file while Lifeboat writes a new version of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from lifeboat_alf.seams.file_operations import SystemFiles


class FilesOfBusyAgent(SystemFiles):
    """Writes `TEXT` into the file `changed` as soon as a temporary file for its new version is complete."""

    TEXT: ClassVar[str] = "# Other\n"

    def __init__(self) -> None:
        super().__init__()
        self.changed: Path | None = None

    def write_new(self, path: Any, data: bytes, **options: Any) -> None:
        super().write_new(path, data, **options)
        if self.changed is not None and f".{self.changed.name}." in str(path):
            self.changed.write_text(self.TEXT)
