"""What an agent may do with its own past: the user's grant, and the proposals that the agent makes under it.

Both are decisions in the agent's vault, so every change has a row in the audit, and a purge of the whole agent removes
them.
"""
