"""Everything that Lifeboat does with agents: capture, restore, purge, replicate, verify, search."""
