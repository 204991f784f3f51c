"""Health: how every agent stands, when its copy is verified, who is told, and in which words.

`standing`, `notices` and `due` are pure and light: the daemon uses them. What they need is gathered by `status`, in a
worker or a command. `notifiers/` holds one file for each way of telling somebody.
"""
