"""Where ZeroClaw keeps credentials, and how it encrypts them."""
