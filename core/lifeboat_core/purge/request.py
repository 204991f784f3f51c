"""What somebody wants to be gone."""

from __future__ import annotations

from dataclasses import dataclass, field

from lifeboat_alf.purging.items import Options
from lifeboat_alf.purging.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Request:
    """Records by id, and whatever holds a text or fits a pattern. Nothing of `wanted` is ever written down. `reason` is
    one of the four of ALF §3.1.11. `workspace`: the live files are cut too; `capture`: what lies there now is captured
    first, so that the filter knows it; `keep_print`: captures know also a text again that can be guessed."""

    record_ids: tuple[str, ...] = ()
    wanted: Wanted = field(default_factory=Wanted, repr=False)
    options: Options = field(default_factory=Options)
    reason: str = "user_request"
    workspace: bool = False
    capture: bool = True
    keep_print: bool = False
