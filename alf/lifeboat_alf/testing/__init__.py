"""Sample states and records for tests."""
