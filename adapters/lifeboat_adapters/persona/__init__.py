"""Read the identity of an agent from files that many runtimes share, and render such files from it (ALF §3.2, §3.3)."""
