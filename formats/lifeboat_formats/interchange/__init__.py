"""What the formats of other memory systems have in common: how each is read, written, checked and told of."""
