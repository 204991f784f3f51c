"""The shapes of what commands say: only what screens show. Fields that are not known are left out, fields that are
missing have their defaults (docs/json.md)."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import OtherRelease

Document = TypeVar("Document")


def decode_document(kind: type[Document], document: JsonObject) -> Document:
    """A document as its shape. Raises OtherRelease for another shape."""
    try:
        return msgspec.convert(document, kind, strict=False)
    except msgspec.ValidationError as error:
        raise OtherRelease(f"the answer has another shape: {error}") from error
