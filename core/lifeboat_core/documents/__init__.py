"""The JSON documents of commands: what the command line writes, the dashboard reads and docs/json.md describes.

A string below fields says what they hold, as docs/json.md shows it. A field whose type is another shape needs none: its
own fields are shown. Readers ignore fields that they do not know, and use the default of a field that is missing.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import OtherRelease

Document = TypeVar("Document")


def decode_document(kind: type[Document], document: JsonObject) -> Document:
    """Decode a document. Raises OtherRelease for an unknown form."""
    try:
        return msgspec.convert(document, kind, strict=False)
    except msgspec.ValidationError as error:
        raise OtherRelease(f"this release of Lifeboat does not understand the answer of the daemon: {error}") from error
