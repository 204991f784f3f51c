"""The type of JSON objects, for every package."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
