"""What workers do for the tenants of a shared endpoint: the queue, the kinds of work, what falls due, the worker."""
