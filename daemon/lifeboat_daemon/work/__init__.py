"""Work: everything that reads a workspace, a vault, a key or the network runs in a worker process, never in the daemon.

`messages` is what daemon and worker say to each other, `worker` is the worker's side (`python -m lifeboat_daemon.work`),
`pool` and `queue` are the daemon's, `operations/` holds one file for each kind of work.
"""
