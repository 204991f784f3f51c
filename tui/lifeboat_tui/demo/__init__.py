"""Data of `lifeboat tui --demo`: `recording.json` holds answers of real commands about an invented home."""
