"""Health: the state of every agent, when its copies are verified, and in which words that is said.

`agent_status`, `remote_health` and `due_checks` are pure and light: the daemon uses them. `status_gathering` gathers
what they need, in a worker or a command.
"""
