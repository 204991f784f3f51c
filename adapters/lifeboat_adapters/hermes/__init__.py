"""The Hermes Agent adapter: its profile (`folder/profiles/hermes.toml`), scheduled jobs and sessions."""

from lifeboat_adapters.hermes.adapter import Hermes

ADAPTER = Hermes()

__all__ = ["ADAPTER"]
