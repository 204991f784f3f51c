"""Read OpenClaw's captured configuration for derivations."""

from __future__ import annotations

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_alf.common.json_types import JsonObject


def captured_config_of(files: AgentFiles) -> JsonObject:
    """Return the captured configuration, {} when there is none that can be read."""
    data = files.read(openclaw_paths.HOME + openclaw_paths.CONFIG)
    try:
        return openclaw_config.parse_openclaw_config(data) if data else {}
    except ValueError:
        return {}
