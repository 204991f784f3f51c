"""Names of the key files. Separate from the code that reads them, so that importing it is cheap."""

from __future__ import annotations

USER_KEY = "user.key"
USER_PUBLIC = "user.json"
DEVICE_KEY = "device.key"
FINGERPRINT_KEY = "fingerprint.key"
AGENTS, JOURNAL, SETTLING = "agents", "rotation.json", "settling.json"
IRREPLACEABLE = frozenset({AGENTS, JOURNAL, SETTLING})
"""Files that the recovery words cannot restore."""
