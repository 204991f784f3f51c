"""Records to chunks of a bundle, and back."""
