"""The worker's process: `python -m lifeboat_daemon.work`."""

from lifeboat_daemon.work.worker_loop import main

main()
