"""What an object store answered, as an error of the vault.

The library tells answers of the same kind apart in its text alone, and adds all it knows to that text: the request and
the whole answer, in which some stores repeat what was signed. Only the status and the store's own word for it go on.
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
    """`status` of HTTP, 0 where there was no answer; `code` is the store's own word, "" where it said none.
    `certificate`: it was not the one of the store. `keyless`: the keys could not be had, and nothing was asked."""

    status: int
    code: str
    certificate: bool = False
    keyless: bool = False

    @property
    def words(self) -> str:
        return f"answered {self.status} {self.code}".rstrip() if self.status else "did not answer in time"


class NoObject(Exception):
    """There is no object under this key."""


def ask_store(store: ObjectStore, doing: str, ask: Callable[[], T]) -> T:
    """What `ask` gives. Errors of the library as those of the vault, a missing object as NoObject. `doing` is a word
    for people."""
    from obstore.exceptions import BaseError

    try:
        return ask()
    except (BaseError, OSError, ValueError) as error:
        answer = answer_in(str(error))
        missing = isinstance(error, FileNotFoundError) and answer.code not in _NO_BUCKET
    # outside of the handler: nothing of what the library wrote stays with the error as its context
    raise NoObject if missing else error_of(answer, store, doing)


def answer_in(text: str) -> ObjectStoreAnswer:
    """What the text of an error tells."""
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
    """The error that an answer to `doing` means."""
    said = f"{store}, {doing}: it {answer.words}"
    if answer.certificate:
        said = f"{store}, {doing}: whoever answers there cannot prove to be it (its certificate)"
        return errors.VaultUnusable(said, fix="name the authority of its certificate as root_certificate")
    if answer.keyless:
        said = f"{store}, {doing}: there are no keys for it in the environment, in a file or by this machine's identity"
        kind = errors.VaultUnusable if 400 <= answer.status < 500 else errors.VaultBusy
        return kind(said, fix=KEYS_COME_FROM[store.scheme])
    if answer.code in _FULL or answer.status == 507:
        return errors.VaultFull(said, fix="make room in the object store, or raise its quota")
    if answer.code in _NO_BUCKET:
        return errors.VaultUnusable(said, fix="make the bucket, or correct `objects` in endpoint.json")
    if answer.code in _OTHER_TIME:
        return errors.VaultUnusable(said, fix="set the clock of this machine")
    if answer.code in _LATER or answer.status in (0, 408, 425, 429) or answer.status >= 500:
        return errors.VaultBusy(said)
    if answer.status in (301, 302, 307, 308):
        return errors.VaultUnusable(said, fix="name the region or the endpoint of the bucket in object_options")
    if answer.status in (401, 403):
        fix = f"check what these keys may do with {store}; {KEYS_COME_FROM[store.scheme]}"
        return errors.VaultUnusable(said, fix=fix)
    return errors.VaultUnusable(said, fix="check `objects` and `object_options` in endpoint.json")
