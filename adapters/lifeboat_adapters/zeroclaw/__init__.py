"""ZeroClaw: both layouts on disk, every shape of its memory database since v0.1.0."""

from lifeboat_adapters.zeroclaw.adapter import ZeroClaw

ADAPTER = ZeroClaw()

__all__ = ["ADAPTER"]
