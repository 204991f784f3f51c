"""Work for the tenants of a shared endpoint: the queue, the kinds of jobs, the schedule, and the worker."""
