"""The queue of an endpoint that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_endpoint.engines.opening import shared_engine
from lifeboat_vault.errors import NotShared

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.work.queue import Queue


def queue_of(endpoint: Endpoint) -> Queue:
    """Raises NotShared where the endpoint's data is a folder of files."""
    engine = shared_engine(endpoint.engine)
    if engine is None:
        raise NotShared("the data of this endpoint lies in a folder, and its server looks after it by itself")
    from lifeboat_endpoint.work.queue import Queue

    return Queue(engine.pools.work)
