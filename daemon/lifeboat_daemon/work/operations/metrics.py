"""Write the figures for Prometheus to `metrics.file`.

    {"figures": {...}}  ->  {"written": true}

`figures` are those of `health.metrics.Figures`; nothing is written when the file has them, or when there is no file.
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
        figures = Figures.from_json(work.parameters["figures"])
    except (KeyError, msgspec.ValidationError) as error:
        raise BadRequest(f"metrics: {error}") from None
    path = str(work.context.setting("metrics.file"))
    return {"written": bool(path) and write(work.context.files, path, figures)}
