"""Second copies: which exist, what they hold, and how agents are sent to them and fetched from them."""
