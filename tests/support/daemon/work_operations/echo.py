"""Return the parameters of the job and properties of the worker."""

import os
import sys
from pathlib import Path

import psutil


def run(work):
    return {
        "parameters": work.parameters,
        "agent": None if work.agent is None else work.agent.id,
        "pid": os.getpid(),
        "folder": os.getcwd(),
        "home": str(work.context.home.folder),
        "nice": psutil.Process().nice(),
        "session": os.getsid(0),
        "input": sys.stdin.read(),
        "modules": sorted(name for name in sys.modules if name.startswith("lifeboat_")),
        "oom": Path("/proc/self/oom_score_adj").read_text().strip() if sys.platform == "linux" else "500",
    }
