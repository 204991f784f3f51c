"""Agents whose runtime is described by a profile: a TOML file that says where files, memories and credentials are."""
