"""Written by `lifeboat agents hook`: tells Lifeboat that a session of Hermes ended. It never raises and never waits.

Hermes imports this file as a plugin. The plugin starts the same file as a program, which waits some seconds, because
Hermes still writes the session, and then runs `lifeboat sync`. Standard library only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_QUIET_SECONDS = 5
_LIMIT_SECONDS = 60
_ONE_SHOT = ("-z", "--oneshot")

_started: list[float] = []


def register(ctx: Any) -> None:
    """Register the hooks. Hermes calls this when it loads the plugin."""
    ctx.register_hook("on_session_finalize", _report)
    ctx.register_hook("on_session_end", _report_one_shot)


def _report_one_shot(**_: object) -> None:
    # `hermes -z` ends its process after one answer, without an event for the end of the session.
    if any(word.split("=")[0] in _ONE_SHOT for word in sys.argv[1:]):
        _report()


def _report(**_: object) -> None:
    try:
        now = time.monotonic()
        # A process that still waits will capture the end of this session, too.
        if _started and now - _started[-1] < _QUIET_SECONDS - 1:
            return
        subprocess.Popen(
            [sys.executable, __file__],
            cwd=os.path.abspath(os.sep),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _started.append(now)
    except Exception:
        return


def _sync() -> None:
    order = json.loads(Path(__file__).with_name("lifeboat.json").read_text("utf-8"))
    environment = {name: value for name, value in os.environ.items() if name != "LIFEBOAT_HOME"}
    if order.get("home"):
        environment["LIFEBOAT_HOME"] = order["home"]
    time.sleep(_QUIET_SECONDS)
    # In the background: a first push may take longer than any limit here.
    words = [*order["program"], "sync", order["agent"], "--unless-paused", "--background"]
    subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, timeout=_LIMIT_SECONDS, check=False)


if __name__ == "__main__":
    _sync()
