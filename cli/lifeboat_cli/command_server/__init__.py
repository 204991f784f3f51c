"""The command server: loads the command line once and forks a process for each requested command.

It is a child process of a long-running program (the dashboard), which gets answers within milliseconds and needs
neither a terminal nor a daemon. `lifeboat_daemon.control.command_runner` is the client side.

On a system without fork, python -m lifeboat_cli.command_server --one runs a single command.
"""
