"""Rate limits of tokens and addresses, shared by all processes of an endpoint."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lifeboat_endpoint.server.call import ServerContext
from lifeboat_endpoint.server.rates import rates_file
from lifeboat_endpoint.server.rates.rates_file import FileRates
from lifeboat_endpoint.server.rates.rates_shared import SharedRates
from lifeboat_endpoint.server.rates.token_buckets import Buckets, Rates
from lifeboat_endpoint.server.server_log import LOGGER

TOKENS, FAILURES = "tokens", "failures"
_PERSON = b"lifeboat rates"


def share_limits(folder: Path) -> Path | None:
    """Make processes that start later share their limits through new files in a folder.

    Return None if the files cannot be made: then each process has separate limits.
    """
    try:
        for name in (TOKENS, FAILURES):
            rates_file.make_rates_file(folder / name)
    except OSError as error:
        LOGGER.warning(
            "rate limits apply to each process separately, not to all processes together: %s",
            error.strerror or type(error).__name__,
        )
        return None
    return folder


def limits_of(server: ServerContext, name: str, rate: float, burst: float) -> Rates:
    """Return the limits: through rows on a shared endpoint, through a file if processes of this machine share one."""
    rows = server.endpoint.engine.buckets()
    if rows is not None:
        return SharedRates(rows, lambda: _secret(server, name), rate, burst)
    if server.settings.limits is not None:
        try:
            return FileRates(server.settings.limits / name, rate, burst)
        except (OSError, ImportError) as error:
            LOGGER.warning(
                "rate limits apply to each process separately, not to all processes together: %s", type(error).__name__
            )
    return Buckets(rate, burst)


def _secret(server: ServerContext, name: str) -> bytes:
    """Return a key that is the same in all processes. Raises KeyRevoked, KeySourceRefused."""
    return hashlib.blake2b(name.encode(), key=server.transfer_key(), person=_PERSON, digest_size=32).digest()
