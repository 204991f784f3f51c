"""Fail in the requested way."""

import errno
import os
import signal

from lifeboat_core.errors import Busy


def run(work):
    how = work.parameters["how"]
    if how == "mistake":
        raise ValueError("the secret is rosebud")
    if how == "disk":
        raise OSError(errno.ENOSPC, "No space left on device")
    if how == "busy":
        raise Busy("process 4711 holds it (restore)")
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exits":
        os._exit(3)
    if how == "cycle":
        found = {}
        found["itself"] = found
        return found
    if how == "no json":
        return {"an object": object()}
    return {"text": "x" * (17 << 20)}
