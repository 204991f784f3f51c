"""Maintenance of an endpoint: thinning, sweeping, key rotation, verification, removal of tenants."""
