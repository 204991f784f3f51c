"""Purge, with proof: finding what is to go, destroying it everywhere, and saying so (ALF §3.1.11).

The way of a purge: `finding` looks through everything, `planning` says what would change, `doing` signs the redaction,
`applying` carries it out on this machine (also one that came from another machine), `remotes.redacting` at the second
copies, `receipts` keeps the proof; `resuming` finishes what was cut off, `erasing` is for a whole agent. `keep_out`,
`workspace` and `undo_folders` look after what lies beside the history.
"""
