"""Check whether OpenClaw's gateway, the process that runs scheduled jobs, answers on this machine."""

from __future__ import annotations

import socket

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.openclaw import openclaw_config

PORT = 18789
"""The port of the gateway unless the configuration sets another one."""

NOT_RUNNING = "OpenClaw's gateway is not running; start it first: openclaw gateway run"
_SECONDS = 1.0


def find_gateway_problem(installation: Installation) -> str:
    """Return why commands that need the gateway would fail, "" when it answers or runs on another machine."""
    try:
        values = openclaw_config.read_config_or_backup(installation.config) if installation.config is not None else {}
    except AdapterError:
        return ""
    if openclaw_config.get_nested_text(values, "gateway", "mode") == "remote":
        return ""
    port = openclaw_config.get_nested(values, "gateway", "port")
    try:
        with socket.create_connection(("127.0.0.1", port if isinstance(port, int) else PORT), _SECONDS):
            return ""
    except (OSError, OverflowError):
        return NOT_RUNNING
