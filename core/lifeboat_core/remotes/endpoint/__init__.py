"""Remotes at an endpoint: requests, answers and joining."""
