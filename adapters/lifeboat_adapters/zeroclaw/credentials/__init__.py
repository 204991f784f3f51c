"""Find ZeroClaw's credentials, and encrypt and decrypt them."""
