"""Access to an endpoint: tenants, tokens, and the audit of what they did (see `control.Control`)."""
