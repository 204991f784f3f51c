"""The command that adds a remote, for the dialog of the remotes and for the first run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

EXAMPLES = "https://boat.example.com  or  /media/stick/lifeboat"
"""Placeholder of the field for an address."""


def is_folder(address: str) -> bool:
    """Return True if an address is a path and not a URL."""
    return bool(address) and "://" not in address


def build_add_command(name: str, address: str, secret: str, options: Iterable[str] = ()) -> tuple[tuple[str, ...], str]:
    """Return words and standard input of `remote add`. The path of a folder must be absolute. Without an address the
    secret is a join line, otherwise it is a token, which a folder does not need."""
    if is_folder(address):
        address, secret = Path(address).as_uri(), ""
    token = ("--token-stdin",) if secret else ()
    where = (address, *token) if address else ("--join-stdin",)
    return ("remote", "add", name, *where, *(f"--{option}" for option in options)), f"{secret}\n" if secret else ""
