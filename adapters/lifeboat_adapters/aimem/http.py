"""The HTTP profile of AIMEM: its routes."""

from __future__ import annotations

from typing import Any

ROUTES: tuple[Any, ...] = ()
