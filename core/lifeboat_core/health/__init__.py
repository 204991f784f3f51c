"""Health: the state of every agent, when its copies are verified, and the words for both. `agent_status`,
`remote_health`, `safety_level` and `due_checks` are pure and light: the daemon uses them. `status_gathering` gathers
what they need, in a worker or a command."""
