"""An endpoint: tenants, engines, HTTP, workers, maintenance."""
