"""Who may do what at an endpoint: tenants, tokens, and the audit of what they did (see `control.Control`)."""
