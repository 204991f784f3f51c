"""Send notices.

    {"notices": [{...}, ...]}  ->  {"told": [{"desktop": null, "ntfy": "why not"}, ...]}

The operation does not fail: for a notifier that failed, the document has the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import BadRequest
from lifeboat_daemon.notices import notifiers
from lifeboat_daemon.notices.notice_rules import UserNotice

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. Raises BadRequest."""
    try:
        wanted = [UserNotice.from_json(each) for each in work.parameters["notices"]]
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise BadRequest(f"notify: {error}") from None
    ways = notifiers.load_notifiers()
    return {"told": [notifiers.send_notice(work.context, notice, ways) for notice in wanted]}
