"""Split Markdown notes into memories, and render memories as notes again. Several runtimes use the same names and
conventions. Names here are relative to the workspace."""
