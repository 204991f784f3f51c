"""How an object store answered, from the errors of the library `obstore`.

The library distinguishes answers only in the text of its errors, which includes the request and the whole answer. Some
stores repeat what was signed in it. Only the status and the error code of the store are kept.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,64})</Code>|\"code\": ?\"(\w{1,64})\"")
_PROVIDER = "credential provider"
_METADATA = re.compile(r"169\.254\.\d+\.\d+|metadata\.google\.internal|\[fd00:ec2::")

_REDIRECT = "redirect without LOCATION"

_FULL = frozenset({"QuotaExceeded", "ServiceQuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "DiskFull"})
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "ContainerDisabled"})
_OTHER_TIME = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_OTHER_REGION = frozenset({"AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
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

    @property
    def is_full(self) -> bool:
        return self.code in _FULL or self.status == 507

    @property
    def has_no_bucket(self) -> bool:
        return self.code in _NO_BUCKET

    @property
    def has_other_time(self) -> bool:
        return self.code in _OTHER_TIME

    @property
    def asks_for_retry(self) -> bool:
        return self.code in _LATER or self.status in (0, 408, 425, 429) or self.status >= 500

    @property
    def is_redirect(self) -> bool:
        return self.status in (301, 302, 307, 308)

    @property
    def has_other_region(self) -> bool:
        return self.code in _OTHER_REGION

    @property
    def is_denied(self) -> bool:
        return self.status in (401, 403)


def answer_of(error: Exception) -> ObjectStoreAnswer:
    """Return how the store answered, from an error of the library."""
    return answer_in(str(error))


def answer_in(text: str) -> ObjectStoreAnswer:
    """Extract the status and the code from the text of an error."""
    status, code = _STATUS.search(text), _CODE.search(text)
    if _REDIRECT in text:
        return ObjectStoreAnswer(301, "")
    if _PROVIDER in text:
        return ObjectStoreAnswer(401, "", keyless=True)
    return ObjectStoreAnswer(
        int(status[1] or status[2]) if status else 0,
        (code[1] or code[2]) if code else "",
        certificate="invalidcertificate" in text.lower() and status is None,
        keyless=_METADATA.search(text) is not None,
    )
