"""The state of an agent at one sequence, and its Merkle root."""
