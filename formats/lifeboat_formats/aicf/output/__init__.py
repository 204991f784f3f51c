"""AICF files as they are written."""
