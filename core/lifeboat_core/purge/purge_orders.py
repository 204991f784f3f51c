"""Orders of purges under way on this machine: `vault/purges/<redaction id>.json`, written before the first byte is
destroyed and removed when nothing is left to do. The next process finishes them. An order has no purged text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import PurgeError, RedactionInvalid
from lifeboat_alf.redaction.redactions import Redaction, decode_redaction
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in
from lifeboat_core.purge import purge_folders


@dataclass(frozen=True, slots=True)
class PurgeOrder:
    """What has to be done here: the redaction, whether to purge the workspace too, a note for the receipt, and whether
    to keep a print of text that can be guessed."""

    redaction: Redaction
    workspace: bool = False
    note: str = ""
    keep_print: bool = False

    @property
    def id(self) -> str:
        return self.redaction.id

    def to_json(self) -> JsonObject:
        return {
            "redaction": self.redaction.to_json(),
            "workspace": self.workspace,
            "note": self.note,
            "keep_print": self.keep_print,
        }


def write_order(context: Context, order: PurgeOrder) -> None:
    """Write an order durably, before anything is destroyed."""
    context.files.make_folders(purge_folders.locate_purge_orders(context), 0o700)
    write_atomic(context.files, _path(context, order.id), json_codec.encode_json(order.to_json()))


def remove_order(context: Context, order: PurgeOrder) -> None:
    with contextlib.suppress(FileNotFoundError):
        context.files.remove(_path(context, order.id))


def is_order_pending(context: Context, order: PurgeOrder) -> bool:
    """Return whether no other process finished the order meanwhile."""
    return _path(context, order.id).exists()


def list_pending_orders(context: Context) -> Iterator[PurgeOrder]:
    """Yield unfinished orders that can be read. Costs one listing of a folder when there are none."""
    for path in _paths(context):
        with contextlib.suppress(PurgeError):
            order = _read(context, path)
            if order is not None:
                yield order


def list_damaged_orders(context: Context) -> Iterator[PurgeError]:
    """Yield the errors of orders that cannot be read."""
    for path in _paths(context):
        try:
            _read(context, path)
        except PurgeError as error:
            yield error


def _paths(context: Context) -> list[Path]:
    found = paths_in(context.files, purge_folders.locate_purge_orders(context), ".json")
    return [path for path in found if not path.name.startswith(".")]


def _read(context: Context, path: Path) -> PurgeOrder | None:
    """Read an order; return None when another process finished it meanwhile."""
    try:
        document = json_codec.decode_json(read_all(context.files, path))
        return PurgeOrder(
            decode_redaction(document["redaction"]),
            bool(document["workspace"]),
            str(document.get("note", "")),
            bool(document.get("keep_print", False)),
        )
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, RedactionInvalid, KeyError, TypeError) as error:
        raise PurgeError(f"{path} is damaged: {error}", fix=f"rm {path}") from None


def _path(context: Context, redaction_id: str) -> Path:
    return purge_folders.locate_purge_orders(context) / f"{redaction_id}.json"
