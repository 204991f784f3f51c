"""The command server's process: `python -m lifeboat_cli.command_server [--one]`."""

import sys

from lifeboat_cli.command_server import child, server

if "--one" in sys.argv[1:]:
    child.main()
else:
    server.main()
