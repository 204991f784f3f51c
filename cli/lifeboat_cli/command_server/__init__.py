"""The command server: has the command line loaded, and forks a process for each command that it is asked for.

The child process of a program that stays (the dashboard), which so gets answers in milliseconds and needs neither a
terminal nor a daemon. `lifeboat_daemon.control.command_runner` is the other side.

python -m lifeboat_cli.command_server --one is one such process by itself, where a system cannot fork.
"""
