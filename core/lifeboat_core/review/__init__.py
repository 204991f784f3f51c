"""Review what an agent did to its memories since the user last looked."""
