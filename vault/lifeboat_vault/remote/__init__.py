"""The contract of remotes, the checks that every remote must pass, and helpers for reading a remote back."""
