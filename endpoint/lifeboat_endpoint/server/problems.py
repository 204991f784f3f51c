"""Problem documents (RFC 9457): every response except those that were asked for.

An error that clients should know is a RemoteError. Its status is in one table, and its `code` and `details` let the
client raise it again. Any other error is unexpected: the client gets a request id, and the log gets the place.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import AlfError, LifeboatError
from lifeboat_endpoint.service.remote_errors import BUSY, UNUSABLE
from lifeboat_vault import errors
from lifeboat_vault.errors import RemoteError

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:lifeboat:problem:"

STATUS: tuple[tuple[type[LifeboatError], int], ...] = (
    (errors.AgentErased, 410),
    (errors.StaleBase, 409),
    (errors.EpochBehind, 409),
    (errors.RemoteFull, 507),
    (errors.RemoteBusy, 503),
    (errors.RemoteTooLarge, 413),
    (errors.UnknownAtRemote, 404),
    (errors.RemoteRefused, 422),
    (errors.RemoteUnreachable, 503),
    (errors.KeyRevoked, 403),
)
"""The first class that fits decides. RemoteDenied is 401 or 403, all others are 500."""


class HttpRefusal(Exception):
    """An error with another status than that of the table, for cases that HTTP has a status for."""

    def __init__(self, status: int, error: RemoteError) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


@dataclass(frozen=True, slots=True)
class ProblemDocument:
    """A status, the document, and the headers that belong to them."""

    status: int
    document: JsonObject
    headers: dict[str, str]


def make_problem(error: Exception, request_id: str) -> ProblemDocument:
    """Return the problem document of an error."""
    told = for_client(error.error if isinstance(error, HttpRefusal) else error, request_id)
    status = error.status if isinstance(error, HttpRefusal) else _status(told)
    details = told.details() if isinstance(told, RemoteError) else {}
    document = {
        "type": _TYPE + told.code,
        "title": told.title,
        "status": status,
        "detail": told.message,
        "code": told.code,
        "fix": told.fix,
        "retryable": told.retryable,
        "request_id": request_id,
        **details,
    }
    return ProblemDocument(status, document, _headers(told, status))


def make_status_problem(status: int, request_id: str, headers: dict[str, str] | None = None) -> ProblemDocument:
    """Return a problem document for a case without an error class, such as a method that a path does not have."""
    phrase = HTTPStatus(status).phrase
    document = {
        "type": "about:blank",
        "title": phrase,
        "status": status,
        "detail": phrase,
        "code": "http",
        "fix": None,
        "retryable": False,
        "request_id": request_id,
    }
    return ProblemDocument(status, document, headers or {})


def for_client(error: Exception, request_id: str) -> LifeboatError:
    """Return the error as a client may see it, without paths, tables or programs of this side."""
    if isinstance(error, errors.RemoteDamaged):
        return errors.RemoteDamaged(
            f"the data of the endpoint is damaged; its operator finds details under {request_id} in the log"
        )
    if isinstance(error, RemoteError):
        return error
    if isinstance(error, errors.KeyRevoked):
        return errors.KeyRevoked("the key for this data was revoked, so the data cannot be read or written")
    if isinstance(error, AlfError):
        return errors.RemoteRefused(error.message)
    if isinstance(error, errors.VaultFull):
        return errors.RemoteFull("the endpoint has no space left", retry_after=300)
    if isinstance(error, errors.EndpointMoving | errors.EndpointMoved):
        return errors.RemoteBusy(error.message, retry_after=60)
    if isinstance(error, errors.VaultBusy):
        return errors.RemoteBusy(BUSY, retry_after=1)
    if isinstance(error, errors.VaultUnusable):
        return errors.RemoteBusy(UNUSABLE, retry_after=60)
    if isinstance(error, errors.UnknownSequence):
        return errors.UnknownAtRemote("unknown sequence")
    if isinstance(error, errors.UnknownTenant):
        return errors.RemoteDenied("this token does not belong to this endpoint")
    if isinstance(error, errors.KeySourceAway):
        return errors.RemoteBusy("the endpoint cannot reach the key for its data", retry_after=5)
    if isinstance(error, errors.KeySourceRefused):
        return errors.RemoteBusy("the endpoint cannot reach the key for its data", retry_after=60)
    if isinstance(error, errors.VaultError):
        return errors.RemoteDamaged(
            f"the endpoint cannot read or write its data; its operator finds details under {request_id} in the log"
        )
    return _UnexpectedFailure(f"the endpoint failed; its operator finds details under {request_id} in the log")


class _UnexpectedFailure(LifeboatError):
    """An internal error of the endpoint; its log has the details."""

    code = "accident"
    title = "The endpoint failed"
    retryable = True


def _status(error: LifeboatError) -> int:
    if isinstance(error, errors.RemoteDenied):
        return 401 if error.scope is None else 403
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def _headers(error: LifeboatError, status: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    if status in (429, 503, 507):
        after = error.retry_after if isinstance(error, errors.RemoteBusy) else None
        headers["Retry-After"] = str(max(1, round(after or 1)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.StaleBase):
        headers["X-Latest-Sequence"] = str(error.sequence or 0)
    return headers
