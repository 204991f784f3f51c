"""What an endpoint does for one tenant, whatever transport asks for it."""
