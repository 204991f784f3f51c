"""Everything that reads a workspace, a vault, a key or the network runs in a worker process.

`messages` is what daemon and worker say to each other; `worker` is the worker's side
(`python -m lifeboat_daemon.work`), with `priority`; `queue`, `pool`, `places` and `process` are the daemon's;
`operations/` holds one file for each kind of work, `limits` says how long each may take.
"""
