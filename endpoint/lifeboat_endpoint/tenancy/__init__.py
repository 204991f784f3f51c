"""Who may do what: tenants, tokens, and the audit of it (`control.db`)."""
