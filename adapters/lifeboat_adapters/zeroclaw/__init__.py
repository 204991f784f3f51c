"""ZeroClaw: both layouts on disk, every shape of its memory database since v0.1.0."""
