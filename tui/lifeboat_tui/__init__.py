"""The dashboard: a client of the control socket, nothing else."""
