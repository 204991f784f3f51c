"""The command line under the name that session hooks of earlier releases use."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run the command line. It is found by name: the daemon does not import it."""
    import_module("lifeboat_cli").main()
