"""The keys with which endpoints sign receipts, as this home first saw them: `vault/receipts/endpoints.json`.

    {vault id: {"public": base64, "name", "first_seen": timestamp}}

A key stays when its remote is removed, because its receipts are verified with it permanently.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from filelock import FileLock

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.errors import SystemRefused
from lifeboat_core.home.context import Context
from lifeboat_keys.pairs import endpoint_key
from lifeboat_keys.pairs.strict_base64 import to_base64

_FOLDER, _FILE = "receipts", "endpoints.json"


def load_pinned_keys(context: Context) -> dict[str, bytes]:
    """Return the public keys by vault id. Raises SystemRefused when the file is damaged."""
    return {vault_id: endpoint_key.public_of(found["public"]) for vault_id, found in _read(context).items()}


def pin_endpoint_key(context: Context, vault_id: str, name: str, public: bytes) -> bool:
    """Keep the key of an endpoint at the first contact. Return whether `public` is the kept one; a later different key
    is not accepted."""
    with FileLock(context.home.locks_folder / "endpoints.lock", mode=0o600):
        kept = _read(context)
        if vault_id not in kept:
            kept[vault_id] = {"public": to_base64(public), "name": name, "first_seen": context.now()}
            context.files.make_folders(_path(context).parent, 0o700)
            write_atomic(context.files, _path(context), json_codec.encode_pretty(kept) + b"\n", mode=0o600)
    return bool(kept[vault_id]["public"] == to_base64(public))


def pin_receipt_signer(context: Context, vault_id: str, name: str, receipt: JsonObject | None) -> None:
    """Pin the key that signed an endpoint's receipt, if none is known."""
    signature = (receipt or {}).get("signature")
    if isinstance(signature, dict) and "endpoint" in signature:
        try:
            public = endpoint_key.public_of(signature["endpoint"])
        except ValueError:
            return
        pin_endpoint_key(context, vault_id, name, public)


def _read(context: Context) -> dict[str, JsonObject]:
    path = _path(context)
    try:
        document = json_codec.decode_json(read_all(context.files, path))
        for found in document.values():
            endpoint_key.public_of(found["public"])
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise SystemRefused(f"{path} is damaged: {error}", fix=f"rm {path}") from None
    kept: dict[str, JsonObject] = document
    return kept


def _path(context: Context) -> Path:
    return context.home.vaults_folder / _FOLDER / _FILE
