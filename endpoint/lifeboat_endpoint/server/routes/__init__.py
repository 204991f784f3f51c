"""One file per resource: its routes, and nothing else."""
