"""What a report of a fault holds: versions and the support bundle."""
