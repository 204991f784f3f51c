"""Access to the queue of a shared endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_endpoint.engines.engine_choice import as_shared_engine
from lifeboat_vault.errors import EndpointError

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.work.endpoint_queue import EndpointQueue


def open_queue(endpoint: Endpoint) -> EndpointQueue:
    """Return the queue. Raises EndpointError.NOT_SHARED for an endpoint of files."""
    engine = as_shared_engine(endpoint.engine)
    if engine is None:
        raise EndpointError.NOT_SHARED(
            "this endpoint stores its data in a folder; its server maintains the data without workers"
        )
    from lifeboat_endpoint.work.endpoint_queue import EndpointQueue

    return EndpointQueue(engine.pools.work)
