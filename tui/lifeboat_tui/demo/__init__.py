"""What `lifeboat tui --demo` shows: `recording.json`, what real commands said of an invented home."""
