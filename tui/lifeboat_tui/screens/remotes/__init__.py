"""The screens of remotes and of the agents they keep."""
