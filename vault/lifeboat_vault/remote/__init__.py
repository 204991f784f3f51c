"""A second copy as whoever replicates sees it: the contract, the vault in the same process, what any remote must do."""
