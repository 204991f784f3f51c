"""Stores for a vault's rows and large bodies, behind two protocols."""
