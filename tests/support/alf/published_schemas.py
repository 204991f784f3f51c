"""The JSON schemas that the authors of ALF published, unchanged, with their licence beside them in `schemas/`.

They come from https://github.com/agent-life/agent-life-data-format and are used by tests only. The product has its
own schemas in `lifeboat_alf`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.json_schemas import jsonschema

FOLDER = Path(__file__).parent / "schemas"
_SUFFIX = ".schema.json"


def list_published_schemas() -> list[str]:
    """Return the names of all published schemas, such as `memory-record`."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in FOLDER.glob(f"*{_SUFFIX}"))


def load_published_schema(name: str) -> dict[str, Any]:
    """Return the published schema `name`, such as `identity`."""
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}{_SUFFIX}").read_bytes())
    return schema


def validate_as_published(name: str, document: object) -> None:
    """Raise `jsonschema.ValidationError` unless `document` obeys the published schema `name`, formats included."""
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(load_published_schema(name), format_checker=checker).validate(document)
