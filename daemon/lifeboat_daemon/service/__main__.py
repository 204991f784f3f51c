"""`python -m lifeboat_daemon.service`: run the daemon of this home in the foreground until it is stopped."""

from __future__ import annotations

import sys

from lifeboat_daemon.service.daemon_process import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
