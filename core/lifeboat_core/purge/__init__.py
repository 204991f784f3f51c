"""Purge content from the histories of an agent, with proof (ALF §3.1.11).

`purge_search` looks through everything, `purge_run` signs the redaction, `local_redaction` applies it on this machine
(also one that came from another machine), `remotes` sends it to the remotes, `receipt_signing` keeps the proof.
`purge_recovery` finishes what was interrupted, `agent_purge` is for a whole agent. `keep_out`, `workspace_purge` and
`undo_folders` handle what is outside the histories.
"""
