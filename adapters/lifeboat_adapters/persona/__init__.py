"""Who an agent is, from files that many runtimes keep alike, and such files from it (ALF §3.2, §3.3)."""
