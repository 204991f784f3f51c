"""Decode a key from text: its 24 words, or the document of a key file."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_keys.errors import KeyDamaged
from lifeboat_keys.home import key_file_documents
from lifeboat_keys.pairs.user_key import UserKey


def key_from(text: bytes, source: str) -> UserKey:
    """Return the key in a text. Raises BadWords, KeyDamaged; neither repeats any of it."""
    if text.lstrip().startswith(b"{"):
        return _of_document(text, source)
    try:
        return UserKey.from_words(text.decode())
    except UnicodeDecodeError:
        raise KeyDamaged(f"{source} contains neither recovery words nor a key document") from None


def _of_document(text: bytes, source: str) -> UserKey:
    try:
        document = json_codec.decode_json(text)
    except (msgspec.DecodeError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise KeyDamaged(f"{source} does not contain a key document")
    return key_file_documents.user_key(document, source)
