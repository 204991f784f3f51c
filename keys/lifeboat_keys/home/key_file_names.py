"""How the files of the keys are called. Apart from what reads them, so that a look costs nothing."""

from __future__ import annotations

USER_KEY = "user.key"
USER_PUBLIC = "user.json"
DEVICE_KEY = "device.key"
FINGERPRINT_KEY = "fingerprint.key"
AGENTS, JOURNAL, SETTLING = "agents", "rotation.json", "settling.json"
IRREPLACEABLE = frozenset({AGENTS, JOURNAL, SETTLING})
"""What the words of the key cannot make anew."""
