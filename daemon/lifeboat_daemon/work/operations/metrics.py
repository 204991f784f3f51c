"""Write the figures for Prometheus to `metrics.file`.

    {"status": {...}, "counters": {id: {"captures": 3, "failures": 0}}, "daemon": {...}?}  ->  {"written": true}

The parameters are those of `Figures.of`. Nothing is written when the file has these figures, or when none is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lifeboat_daemon.errors import BadRequest
from lifeboat_daemon.health.metrics import Figures, write

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work

JsonObject = dict[str, Any]


def run(work: Work) -> JsonObject:
    """See the module. Raises BadRequest, SystemRefused, DiskFull."""
    try:
        figures = Figures.of(**work.parameters)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise BadRequest(f"metrics: {error}") from None
    path = str(work.context.setting("metrics.file"))
    return {"written": bool(path) and write(work.context.files, path, figures)}
