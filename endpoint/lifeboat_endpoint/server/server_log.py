"""The server's log: a line for each request and for each trouble, on standard error.

A line holds what the server itself wrote: the route, never the path that was asked for (it may be a signed address),
no query, no header, no name and nothing of a body. Of an accident it tells classes and places in the program, not
messages.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from dataclasses import dataclass

from lifeboat_alf.errors import LifeboatError

LOGGER = logging.getLogger("lifeboat.endpoint")
_LONGEST_REASON = 500
_PROBES = frozenset({"/livez", "/readyz", "/health/live", "/health/ready"})


class _LogFormatter(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


def to_standard_error() -> None:
    """Write the log to standard error, once."""
    if LOGGER.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LogFormatter("%(asctime)s %(levelname)s %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


@dataclass(slots=True)
class RequestRecord:
    """What is known of a request. `route` is its path with the names of parameters, "-" where there is none."""

    id: str
    method: str
    began: float
    route: str = "-"
    tenant: str = "-"
    status: int = 0
    received: int = 0
    sent: int = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


def log_request(record: RequestRecord) -> None:
    """A request was answered. Probes that found nothing say nothing: a load balancer asks every second."""
    if record.route in _PROBES and record.status == 200:
        return
    LOGGER.info(
        "request=%s method=%s route=%s status=%d ms=%d received=%d sent=%d tenant=%s",
        record.id,
        record.method,
        record.route,
        record.status,
        round(record.seconds * 1000),
        record.received,
        record.sent,
        record.tenant,
    )


def log_failure(record: RequestRecord, error: BaseException) -> None:
    """A request failed for a reason of this side."""
    LOGGER.error("request=%s route=%s failed: %s", record.id, record.route, describe_error(error))


def describe_error(error: BaseException) -> str:
    """Class and place of an error and of what caused it: no message, which may hold what was sent."""
    parts = []
    seen: BaseException | None = error
    while seen is not None:
        frames = traceback.extract_tb(seen.__traceback__)[-3:]
        places = " < ".join(f"{_module(frame.filename)}:{frame.lineno}" for frame in reversed(frames))
        parts.append(f"{type(seen).__name__} at {places or 'an unknown place'}")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return ", because of ".join(parts)


def explain_error(error: BaseException) -> str:
    """Why a part of the endpoint itself does not work, of a question that held nothing of anybody's: the message of an
    error of ours, in one line; else as `describe_error`."""
    if isinstance(error, LifeboatError):
        return " ".join(error.message.split())[:_LONGEST_REASON]
    return describe_error(error)


def _module(filename: str) -> str:
    return "/".join(filename.replace("\\", "/").split("/")[-2:])
