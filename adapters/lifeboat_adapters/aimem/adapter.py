"""Aimem as an adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.base import BaseAdapter
from lifeboat_adapters.contract import Derivation, FoundAgent, Installation, Placement, Rendered, Root, Section
from lifeboat_adapters.errors import NotAWorkspace


class Aimem(BaseAdapter):
    """`contract.Adapter`."""

    runtime = "aimem"
    splitter_version = 1

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
        return []

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        raise NotAWorkspace(f"{workspace} is none")

    def recognises(self, workspace: Path) -> int:
        return 0

    def roots(self, installation: Installation) -> Sequence[Root]:
        return [Root("raw/aimem/", installation.workspace)]

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return Placement.MANAGED

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return None

    def split(self, path: str, text: str) -> list[Section] | None:
        return None

    def derivations(self) -> Sequence[Derivation]:
        return []

    def render(self, state: Any) -> Iterator[Rendered]:
        return iter(())


ADAPTER = Aimem()
