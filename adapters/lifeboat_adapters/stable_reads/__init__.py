"""Read files and databases that other programs may be writing, each in one consistent state."""
