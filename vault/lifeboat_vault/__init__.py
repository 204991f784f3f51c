"""The vault of an agent, what it is stored in, and the contract of every remote."""
