"""The memories of AICF files as records."""
