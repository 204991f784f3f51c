"""How often tokens and addresses may ask, for all processes that serve the same endpoint."""

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
    """Have the processes that are started from now on share their limits through files in a folder, which begin empty;
    None where that cannot be: then each has limits of its own."""
    try:
        for name in (TOKENS, FAILURES):
            rates_file.make_rates_file(folder / name)
    except OSError as error:
        LOGGER.warning("limits are those of each process: %s", error.strerror or type(error).__name__)
        return None
    return folder


def limits_of(server: ServerContext, name: str, rate: float, burst: float) -> Rates:
    """Through rows where the endpoint has some, through a file where processes of this machine share one."""
    rows = server.endpoint.engine.buckets()
    if rows is not None:
        return SharedRates(rows, lambda: _secret(server, name), rate, burst)
    if server.settings.limits is not None:
        try:
            return FileRates(server.settings.limits / name, rate, burst)
        except (OSError, ImportError) as error:
            LOGGER.warning("limits are those of each process: %s", type(error).__name__)
    return Buckets(rate, burst)


def _secret(server: ServerContext, name: str) -> bytes:
    """The same in all processes. Raises KeyRevoked, KeySourceRefused."""
    return hashlib.blake2b(name.encode(), key=server.transfer_key(), person=_PERSON, digest_size=32).digest()
