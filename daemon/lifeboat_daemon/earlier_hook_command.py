"""Provide the command line under the module name that session hooks of earlier releases call."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run the command line. The daemon finds it by name and does not import it."""
    import_module("lifeboat_cli").main()
