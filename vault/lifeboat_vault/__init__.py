"""The vault of an agent, its stores, encryption at rest, and the contract of every remote."""
