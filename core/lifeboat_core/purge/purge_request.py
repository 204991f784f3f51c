"""What somebody wants to be gone."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_alf.purging.purge_items import PurgeOptions
from lifeboat_alf.purging.purge_terms import PurgeTerms


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """Records by id, and whatever holds a text or fits a pattern. Nothing of `wanted` is ever written down. `reason` is
    one of the four of ALF §3.1.11. `workspace`: the live files are cut too; `capture`: what lies there now is captured
    first, so that the filter knows it; `keep_print`: captures know also a text again that can be guessed."""

    record_ids: tuple[str, ...] = ()
    wanted: PurgeTerms = field(default_factory=PurgeTerms, repr=False)
    options: PurgeOptions = field(default_factory=PurgeOptions)
    reason: str = "user_request"
    workspace: bool = False
    capture: bool = True
    keep_print: bool = False
