"""The files inside of an archive: their layout, shapes and containers (specification of the format, section 4)."""
