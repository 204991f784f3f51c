"""Convert ZeroClaw's rows and notes to memories, and memories to rows."""
