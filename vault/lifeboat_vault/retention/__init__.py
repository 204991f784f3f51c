"""Which sequences are kept and which are thinned."""
