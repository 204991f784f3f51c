"""OpenClaw, as of February 2026 and as of September 2026.

The modules here know its folders, files and databases. `layers` reads who the agent is, `credentials` says which bytes
are secrets and whose they are, `restore` brings an agent back. `adapter` is the one door to all of it.
"""

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.openclaw.adapter import OpenClaw

ADAPTER: Adapter = OpenClaw()

__all__ = ["ADAPTER"]
