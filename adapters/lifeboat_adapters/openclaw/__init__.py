"""OpenClaw, as of February 2026 and as of September 2026."""

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.openclaw.adapter import OpenClaw
from lifeboat_adapters.openclaw.splitting import PRIMARY_PRINCIPAL_NAMESPACE

ADAPTER: Adapter = OpenClaw()

__all__ = ["ADAPTER", "PRIMARY_PRINCIPAL_NAMESPACE"]
