"""The checks that every remote must pass: see `remote.conformance_checks`."""
