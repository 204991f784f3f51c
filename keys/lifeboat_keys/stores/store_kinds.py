"""The kinds of stores, by the names that people and files use."""

from __future__ import annotations

from enum import StrEnum


class StoreKind(StrEnum):
    KEYRING = "keyring"
    """The OS keyring."""
    PASSPHRASE = "passphrase"
    """A file wrapped with a passphrase."""
    COMMAND = "command"
    """What the setting `key_command` prints."""
    KEY_FILE = "key_file"
    """The file that LIFEBOAT_KEY_FILE names."""
    FILE = "file"
    """A private file that nothing protects further."""
