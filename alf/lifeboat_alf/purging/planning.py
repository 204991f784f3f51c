"""The plan of a purge: which records go, how every version of every file reads afterwards, and the check that nothing of
it is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lifeboat_alf.purging.items import CutPlan, Item, Options
from lifeboat_alf.purging.wanted import Wanted

Items = Callable[[], Iterable[Item]]


def plan_cuts(
    items: Items,
    agent_id: str,
    record_ids: Iterable[str] = (),
    wanted: Wanted = Wanted(),  # noqa: B008 - frozen and empty
    options: Options = Options(),  # noqa: B008 - frozen
) -> CutPlan:
    """What a purge of records, and of what is wanted, does to a history.

    `items` is called several times and must give the same each time; no body is held. Finding nothing is an empty plan.
    Raises PurgeError for an id that no record has, for more records than `options` allow, and for a match that cannot
    be taken out.
    """
    raise NotImplementedError
