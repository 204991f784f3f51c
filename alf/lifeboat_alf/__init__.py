"""Read, write, validate, diff and purge data in the Agent Life Format (ALF) 1.0.

Pure: no daemon, no network, no runtime, no clock. `state` is the centre: a *state* is what an agent is at one
sequence; a snapshot archive, an open vault and "archive plus deltas" are three ways to hold one.
"""
