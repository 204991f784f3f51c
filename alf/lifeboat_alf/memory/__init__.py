"""Memory records: their shapes, lifecycle, partitions and effective view."""
