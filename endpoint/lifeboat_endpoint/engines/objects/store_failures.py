"""Errors of the object store library as errors of the vault."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lifeboat_endpoint.engines.objects.store_address import KEYS_COME_FROM, ObjectStore
from lifeboat_vault import errors
from lifeboat_vault.store.object_store_answers import ObjectStoreAnswer, answer_of

T = TypeVar("T")


class NoObject(Exception):
    """There is no object with this key."""


def ask_store(store: ObjectStore, doing: str, ask: Callable[[], T]) -> T:
    """Return the result of `ask`, converting errors of the library to errors of the vault. Raises NoObject.

    `doing` is a word for messages.
    """
    from obstore.exceptions import BaseError

    try:
        return ask()
    except (BaseError, OSError, ValueError) as error:
        answer = answer_of(error)
        missing = isinstance(error, FileNotFoundError) and not answer.has_no_bucket
    # Raise outside of the handler, so that the library's error with its text does not become the context.
    raise NoObject if missing else error_of(answer, store, doing)


def error_of(answer: ObjectStoreAnswer, store: ObjectStore, doing: str) -> errors.VaultError:
    """Return the error for an answer to `doing`."""
    said = f"{store}, while {doing}: the object store {answer.words}"
    if answer.certificate:
        said = f"{store}, while {doing}: the certificate of the object store is not trusted"
        return errors.VaultUnusable(
            said, fix="set root_certificate in object_options to the certificate authority of the object store"
        )
    if answer.keyless:
        said = (
            f"{store}, while {doing}: no credentials were found in environment variables or in a "
            "credentials file, and the cloud provides none for this machine"
        )
        kind = errors.VaultUnusable if 400 <= answer.status < 500 else errors.VaultBusy
        return kind(said, fix=KEYS_COME_FROM[store.scheme])
    if answer.is_full:
        return errors.VaultFull(said, fix="free space in the object store, or raise its quota")
    if answer.has_no_bucket:
        return errors.VaultUnusable(said, fix="create the bucket, or correct `objects` in endpoint.json")
    if answer.has_other_time:
        return errors.VaultUnusable(said, fix="correct the clock of this machine")
    if answer.asks_for_retry:
        return errors.VaultBusy(said)
    if answer.is_redirect:
        return errors.VaultUnusable(said, fix="set `region` or `endpoint` of the bucket in object_options")
    if answer.is_denied:
        fix = (
            f"check what the credentials of the endpoint are allowed to do in {store}, or use other "
            f"credentials: {KEYS_COME_FROM[store.scheme]}"
        )
        return errors.VaultUnusable(said, fix=fix)
    return errors.VaultUnusable(said, fix="check `objects` and `object_options` in endpoint.json")
