"""Store receipts of purges: `vault/receipts/<redaction id>.json`, readable by their owner only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.errors import DaemonError
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in
from lifeboat_core.settings import config_file
from lifeboat_keys.errors import ReceiptInvalid
from lifeboat_keys.signed.purge_receipt import PurgeReceipt, decode_purge_receipt

FOLDER = "receipts"


def read_receipt(context: Context, receipt_id: str) -> PurgeReceipt | None:
    """Return the receipt of a redaction; None when there is none. Raises ReceiptInvalid, DaemonError.UNKNOWN_RECEIPT
    (no id), OSError."""
    path, copy = locate_receipt(context, receipt_id), _copy(context, receipt_id)
    try:
        return _parsed(path, config_file.recall_file(context.files, path, copy))
    except FileNotFoundError:
        return None
    except ReceiptInvalid:
        try:
            data = read_all(context.files, copy)
            receipt = _parsed(copy, data)
        except (OSError, ReceiptInvalid):
            receipt = None
        if receipt is None:
            raise
        with contextlib.suppress(OSError):  # if the home is not writable, the copy is used
            write_atomic(context.files, path, data, mode=0o600)
        return receipt


def _parsed(path: Path, data: bytes) -> PurgeReceipt:
    try:
        return decode_purge_receipt(json_codec.decode_json(data))
    except msgspec.DecodeError as error:
        raise ReceiptInvalid(f"{path} is damaged: {error}") from None


def find_receipt(context: Context, receipt_id: str) -> PurgeReceipt:
    """Return a receipt by its id, or by an unambiguous beginning. Raises DaemonError.UNKNOWN_RECEIPT,
    ReceiptInvalid."""
    found = [each for each in _ids(context) if receipt_id and each.startswith(receipt_id.lower())]
    receipt = read_receipt(context, found[0]) if len(found) == 1 else None
    if receipt is None:
        no_or_several = "several receipts have" if found else "no receipt has"
        raise DaemonError.UNKNOWN_RECEIPT(f"{no_or_several} an id that begins with {receipt_id!r}")
    return receipt


def load_receipts(context: Context) -> list[PurgeReceipt]:
    """Return all receipts that can be read, oldest first; `list_damaged_receipts` has the others. Raises OSError."""
    found = []
    for receipt_id in _ids(context):
        with contextlib.suppress(ReceiptInvalid):
            receipt = read_receipt(context, receipt_id)
            if receipt is not None:
                found.append(receipt)
    return sorted(found, key=lambda each: (str(each.audit["requested_at"]), each.id))


def list_damaged_receipts(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the ids of receipts that cannot be read, with the reason."""
    for receipt_id in _ids(context):
        try:
            read_receipt(context, receipt_id)
        except ReceiptInvalid as error:
            yield receipt_id, error.message


def save_receipt(context: Context, receipt: PurgeReceipt) -> None:
    """Store a signed receipt durably. Raises OSError."""
    context.files.make_folders(locate_receipts(context), 0o700)
    data = json_codec.encode_pretty(receipt.to_json()) + b"\n"
    write_atomic(context.files, locate_receipt(context, receipt.id), data, mode=0o600)
    config_file.remember_file(context.files, _copy(context, receipt.id), data)


def locate_receipts(context: Context) -> Path:
    """Return the folder of receipts, which may not exist yet."""
    return context.home.vaults_folder / FOLDER


def locate_receipt(context: Context, receipt_id: str) -> Path:
    """Return the file of a receipt. Raises DaemonError.UNKNOWN_RECEIPT for an invalid id, because it becomes a file
    name."""
    if not ids.is_uuid(receipt_id):
        raise DaemonError.UNKNOWN_RECEIPT(f"{receipt_id!r} is not a valid receipt id")
    return locate_receipts(context) / f"{receipt_id.lower()}.json"


def _copy(context: Context, receipt_id: str) -> Path:
    return context.home.state_folder / FOLDER / locate_receipt(context, receipt_id).name


def _ids(context: Context) -> list[str]:
    places = locate_receipts(context), context.home.state_folder / FOLDER
    found = {path.stem for place in places for path in paths_in(context.files, place, ".json")}
    return sorted(name for name in found if ids.is_uuid(name))
