"""All routes: those of this package, and those that installed packages add through the entry point group
`lifeboat.routes`.

An entry point is a sequence of `Route` or `format_routes.FormatRoute`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points

from lifeboat_endpoint.server.api import Route
from lifeboat_endpoint.server.format_routes import routes_of
from lifeboat_endpoint.server.routes import (
    about_routes,
    agent_routes,
    delta_routes,
    object_routes,
    reading_routes,
    redaction_routes,
    sealed_routes,
    snapshot_routes,
    transfer_routes,
    upload_routes,
)
from lifeboat_endpoint.server.server_log import LOGGER

GROUP = "lifeboat.routes"
OWN: tuple[Route, ...] = (
    *about_routes.ROUTES,
    *agent_routes.ROUTES,
    *snapshot_routes.ROUTES,
    *delta_routes.ROUTES,
    *upload_routes.ROUTES,
    *object_routes.ROUTES,
    *reading_routes.ROUTES,
    *redaction_routes.ROUTES,
    *sealed_routes.ROUTES,
    *transfer_routes.ROUTES,
)


def load_routes() -> Iterator[Route]:
    """Yield the routes of this package first.

    A route whose method and path are taken is left out, and so is a package that cannot be loaded: a faulty format must
    not stop the endpoint.
    """
    known = set()
    for route in (*OWN, *_added()):
        if (route.method, route.path) in known:
            LOGGER.error("the route %s %s is defined twice", route.method, route.path)
            continue
        known.add((route.method, route.path))
        yield route


def _added() -> Iterator[Route]:
    for each in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            found = routes_of(each.load())
        except Exception as error:
            LOGGER.error("the routes of %s cannot be loaded: %s", each.name, type(error).__name__)
            continue
        yield from found
