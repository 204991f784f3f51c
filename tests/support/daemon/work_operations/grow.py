"""Allocate memory and keep it."""

KEPT = []


def run(work):
    KEPT.append(bytearray(os_random(work.parameters["bytes"])))
    return {}


def os_random(size):
    return b"x" * size
