"""What every second copy must do, as functions: see `remote.conformance`."""
