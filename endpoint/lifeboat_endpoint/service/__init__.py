"""What an endpoint does for one tenant, independent of the transport."""
