"""Second copies: which there are, what they hold, how agents come there and back."""
