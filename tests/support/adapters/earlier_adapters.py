"""Adapters that Lifeboat refuses, because they were written for an earlier contract."""

from __future__ import annotations

from typing import Any

from support.adapters.notebook_runtime import Notebook


class WithoutBase:
    """Answers everything itself."""

    runtime = "notebook"

    def secrets(self, path: str, data: bytes) -> Any:
        return None


class HalfMoved(Notebook):
    """Has a method on itself that Lifeboat only calls on a group."""

    def secrets(self, path: str, data: bytes) -> Any:
        return None


class WithoutGroup(Notebook):
    """Has a group of another class."""

    databases = object()  # type: ignore[assignment]


WITHOUT_BASE = WithoutBase()
HALF_MOVED = HalfMoved()
WITHOUT_GROUP = WithoutGroup()
