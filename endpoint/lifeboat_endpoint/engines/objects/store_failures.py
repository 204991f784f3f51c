"""Errors of the object store library as errors of the vault.

The library distinguishes answers only in the text of its errors, which includes the request and the whole answer. Some
stores repeat what was signed in it. Only the status and the error code of the store are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from lifeboat_endpoint.engines.objects.store_address import KEYS_COME_FROM, ObjectStore
from lifeboat_vault import errors

T = TypeVar("T")
_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,64})</Code>|\"code\": ?\"(\w{1,64})\"")
_PROVIDER = "credential provider"
_METADATA = re.compile(r"169\.254\.\d+\.\d+|metadata\.google\.internal|\[fd00:ec2::")

_FULL = frozenset({"QuotaExceeded", "ServiceQuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "DiskFull"})
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "ContainerDisabled"})
_OTHER_TIME = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_LATER = frozenset({"SlowDown", "RequestTimeout", "ServerBusy", "OperationTimedOut", "InternalError"})


class ObjectStoreAnswer(NamedTuple):
    """How a store answered. `status` is that of HTTP, 0 without an answer; `code` is the store's error code or "".

    `certificate`: the certificate did not match. `keyless`: no credentials were found, so nothing was sent.
    """

    status: int
    code: str
    certificate: bool = False
    keyless: bool = False

    @property
    def words(self) -> str:
        return f"answered {self.status} {self.code}".rstrip() if self.status else "did not answer in time"


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
        answer = answer_in(str(error))
        missing = isinstance(error, FileNotFoundError) and answer.code not in _NO_BUCKET
    # Raise outside of the handler, so that the library's error with its text does not become the context.
    raise NoObject if missing else error_of(answer, store, doing)


def answer_in(text: str) -> ObjectStoreAnswer:
    """Extract the status and the code from the text of an error."""
    status, code = _STATUS.search(text), _CODE.search(text)
    if _PROVIDER in text:
        return ObjectStoreAnswer(401, "", keyless=True)
    return ObjectStoreAnswer(
        int(status[1] or status[2]) if status else 0,
        (code[1] or code[2]) if code else "",
        certificate="invalidcertificate" in text.lower() and status is None,
        keyless=_METADATA.search(text) is not None,
    )


def error_of(answer: ObjectStoreAnswer, store: ObjectStore, doing: str) -> errors.VaultError:
    """Return the error for an answer to `doing`."""
    said = f"{store}, while {doing}: the object store {answer.words}"
    if answer.certificate:
        said = f"{store}, while {doing}: the certificate of the object store is not trusted"
        return errors.VaultUnusable(said, fix="give the certificate authority of the object store as root_certificate")
    if answer.keyless:
        said = (
            f"{store}, while {doing}: no credentials were found in the environment, in a file or "
            "in the identity of this machine"
        )
        kind = errors.VaultUnusable if 400 <= answer.status < 500 else errors.VaultBusy
        return kind(said, fix=KEYS_COME_FROM[store.scheme])
    if answer.code in _FULL or answer.status == 507:
        return errors.VaultFull(said, fix="free space in the object store, or raise its quota")
    if answer.code in _NO_BUCKET:
        return errors.VaultUnusable(said, fix="create the bucket, or correct `objects` in endpoint.json")
    if answer.code in _OTHER_TIME:
        return errors.VaultUnusable(said, fix="correct the clock of this machine")
    if answer.code in _LATER or answer.status in (0, 408, 425, 429) or answer.status >= 500:
        return errors.VaultBusy(said)
    if answer.status in (301, 302, 307, 308):
        return errors.VaultUnusable(said, fix="give the region or the endpoint of the bucket in object_options")
    if answer.status in (401, 403):
        fix = f"check the permissions of these credentials for {store}; {KEYS_COME_FROM[store.scheme]}"
        return errors.VaultUnusable(said, fix=fix)
    return errors.VaultUnusable(said, fix="check `objects` and `object_options` in endpoint.json")
