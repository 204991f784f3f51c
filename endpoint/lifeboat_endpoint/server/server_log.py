"""The server's log on standard error: a line for each request and each failure.

A line contains the route, never the path of the request, which may be a signed address. It contains no query, header,
name or part of a body. For an unexpected error it has classes and places in the program, not messages.
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
    """Write the log to standard error. Repeating it has no effect."""
    if LOGGER.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LogFormatter("%(asctime)s %(levelname)s %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


@dataclass(slots=True)
class RequestRecord:
    """A request for the log. `route` is its path with the names of parameters, "-" if it has none."""

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
    """Log a request. Successful probes are not logged, since a load balancer sends one every second."""
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
    """Log a request that failed because of this side."""
    LOGGER.error("request=%s route=%s failed: %s", record.id, record.route, describe_error(error))


def describe_error(error: BaseException) -> str:
    """Return class and place of an error and of its causes, without messages, which may contain what was sent."""
    parts = []
    seen: BaseException | None = error
    while seen is not None:
        frames = traceback.extract_tb(seen.__traceback__)[-3:]
        places = " < ".join(f"{_module(frame.filename)}:{frame.lineno}" for frame in reversed(frames))
        parts.append(f"{type(seen).__name__} at {places or 'an unknown location'}")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return ", because of ".join(parts)


def explain_error(error: BaseException) -> str:
    """Return why a part of the endpoint does not work, in one line.

    The message of a LifeboatError is included, because the check that failed involved no user's data.
    """
    if isinstance(error, LifeboatError):
        return " ".join(error.message.split())[:_LONGEST_REASON]
    return describe_error(error)


def _module(filename: str) -> str:
    return "/".join(filename.replace("\\", "/").split("/")[-2:])
