"""One package per agent runtime and per interchange format, found by entry point `lifeboat.adapters`."""
