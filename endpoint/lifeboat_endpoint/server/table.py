"""All routes: those of this package, and those that installed packages add through the entry point group
`lifeboat.routes`, each a sequence of `Route` or `formats.FormatRoute`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points

from lifeboat_endpoint.server.api import Route
from lifeboat_endpoint.server.formats import routes_of
from lifeboat_endpoint.server.logs import LOGGER
from lifeboat_endpoint.server.routes import (
    about,
    agents,
    deltas,
    objects,
    reading,
    redactions,
    sealed,
    snapshots,
    transfers,
    uploads,
)

GROUP = "lifeboat.routes"
OWN: tuple[Route, ...] = (
    *about.ROUTES,
    *agents.ROUTES,
    *snapshots.ROUTES,
    *deltas.ROUTES,
    *uploads.ROUTES,
    *objects.ROUTES,
    *reading.ROUTES,
    *redactions.ROUTES,
    *sealed.ROUTES,
    *transfers.ROUTES,
)


def routes() -> Iterator[Route]:
    """Own ones first; a method of a path that is taken already is left out, and so is a package that cannot be loaded:
    the agents of everybody are worth more than its format."""
    known = set()
    for route in (*OWN, *_added()):
        if (route.method, route.path) in known:
            LOGGER.error("the route %s %s is there twice", route.method, route.path)
            continue
        known.add((route.method, route.path))
        yield route


def _added() -> Iterator[Route]:
    for each in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            found = routes_of(each.load())
        except Exception as error:
            LOGGER.error("routes of %s cannot be loaded: %s", each.name, type(error).__name__)
            continue
        yield from found
