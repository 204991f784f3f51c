"""Key pairs: the user, the machine, an agent, an endpoint."""
