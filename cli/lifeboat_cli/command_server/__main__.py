"""The command server's process: `python -m lifeboat_cli.command_server [--one]`."""

import sys

from lifeboat_cli.command_server import command_child, forking_server

if "--one" in sys.argv[1:]:
    command_child.main()
else:
    forking_server.main()
