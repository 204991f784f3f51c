"""The ZeroClaw adapter, for both layouts on disk and every shape of its memory database since v0.1.0."""

from lifeboat_adapters.zeroclaw.adapter import ZeroClaw

ADAPTER = ZeroClaw()

__all__ = ["ADAPTER"]
