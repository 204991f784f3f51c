"""Single memories of an agent: list, search, change."""
