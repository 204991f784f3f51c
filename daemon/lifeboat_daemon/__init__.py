"""The daemon and the command line: homes, agents, capture, restore."""
