"""The kinds of key stores, by their names in commands and files."""

from __future__ import annotations

from enum import StrEnum


class StoreKind(StrEnum):
    """Kind of a key store."""

    KEYRING = "keyring"
    """The OS keyring."""
    PASSPHRASE = "passphrase"
    """A file wrapped with a passphrase."""
    COMMAND = "command"
    """The program of the setting `key_command`."""
    KEY_FILE = "key_file"
    """The file that LIFEBOAT_KEY_FILE names."""
    FILE = "file"
    """A private file without further protection."""
