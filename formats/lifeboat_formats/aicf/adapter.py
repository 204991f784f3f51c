"""A folder of AICF files as an agent's workspace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.base import BaseAdapter
from lifeboat_adapters.contract import Derivation, FoundAgent, Installation, Placement, Rendered, Root, Section
from lifeboat_adapters.credentials import Secret
from lifeboat_formats.aicf import folder, layers, mapping, patching, purging, reading, rendering, writing
from lifeboat_formats.interchange.errors import SourceRefused


class Aicf(BaseAdapter):
    """`contract.Adapter`. Files are kept byte for byte; a change of a memory elsewhere changes its own span only."""

    runtime = mapping.RUNTIME
    splitter_version = 1
    home_names: tuple[str, ...] = (folder.HOME,)

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
        return list(folder.discover(environment, user_home))

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        return user_home / folder.HOME

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        return folder.locate(workspace)

    def recognises(self, workspace: Path) -> int:
        return folder.recognises(workspace)

    def roots(self, installation: Installation) -> Sequence[Root]:
        return [Root(mapping.RAW, installation.workspace)]

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return folder.place(path, is_folder=is_folder)

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return folder.exclusion(path, is_folder=is_folder)

    def secrets(self, path: str, data: bytes) -> list[Secret] | None:
        return folder.secrets(path, data)

    def split(self, path: str, text: str) -> list[Section] | None:
        name = folder.name_in(path)
        if name is None or not folder.is_readable(name):
            return None
        try:
            return reading.sections(text, name)
        except SourceRefused:
            return None

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return writing.plain_file(memories)

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        return patching.rejoined(text, record_ids, dict(memories))

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        name = folder.name_in(path)
        return [] if name is None or not folder.is_readable(name) else purging.pieces(text, name, record_ids, gone)

    def derivations(self) -> Sequence[Derivation]:
        return layers.DERIVATIONS

    def render(self, state: Any) -> Iterator[Rendered]:
        return rendering.render(state)


ADAPTER = Aicf()
"""The adapter of this format's folders."""
