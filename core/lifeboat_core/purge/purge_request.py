"""The request of a purge."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_alf.purging.purge_items import PurgeOptions
from lifeboat_alf.purging.purge_terms import PurgeTerms


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """Records by id, and everything that has a text or matches a pattern. `wanted` is never written anywhere. `reason`
    is one of the four of ALF §3.1.11. `workspace`: purge the live files too; `capture`: capture the workspace first, so
    that the filter knows its text; `keep_print`: captures also recognise text that can be guessed."""

    record_ids: tuple[str, ...] = ()
    wanted: PurgeTerms = field(default_factory=PurgeTerms, repr=False)
    options: PurgeOptions = field(default_factory=PurgeOptions)
    reason: str = "user_request"
    workspace: bool = False
    capture: bool = True
    keep_print: bool = False
