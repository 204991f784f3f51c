"""OpenClaw's configuration as the derivations read it."""

from __future__ import annotations

from lifeboat_adapters.contract import Files
from lifeboat_adapters.openclaw import config, paths
from lifeboat_alf.json_types import JsonObject


def config_of(files: Files) -> JsonObject:
    """The configuration as captured; {} when there is none, or none that can be read."""
    data = files.read(paths.HOME + paths.CONFIG)
    try:
        return config.parse(data) if data else {}
    except ValueError:
        return {}
