"""The OpenClaw adapter, for releases of February and of September 2026.

The modules here know its folders, files and databases. `layers` derives the identity of the agent, `credentials` finds
secrets and their owners, `restore` puts an agent back. `adapter` combines them.
"""

from lifeboat_adapters.openclaw.adapter import OpenClaw

ADAPTER = OpenClaw()

__all__ = ["ADAPTER"]
