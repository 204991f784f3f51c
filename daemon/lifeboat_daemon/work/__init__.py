"""Everything that reads a workspace, a vault, a key or the network runs in a worker process.

`worker_messages` are exchanged between daemon and worker. `worker_loop` is the worker's side (`python -m
lifeboat_daemon.work`), with `process_priority`. `work_queue`, `worker_pool`, `worker_slots` and `worker_process` are
the daemon's side. `operations/` has one module for each kind of work, and `time_limits` says how long each may take.
"""
