"""Ctrl-C while the program starts or exits: the process ends, and no traceback is printed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import patience

AT_IMPORT = """
import os, signal, sys

class Interruption:
    def find_spec(self, name, path, target=None):
        if name == {point!r}:
            os.write(1, b"reached\\n")
            os.kill(os.getpid(), signal.SIGINT)
        return None

for name in [name for name in sys.modules if name.split(".")[0] in ("click", "rich", "msgspec")]:
    del sys.modules[name]
sys.meta_path.insert(0, Interruption())
from lifeboat_cli import main
main(["status"])
"""
AT_EXIT = """
import atexit, os, signal

def interrupt():
    os.write(1, b"reached\\n")
    os.kill(os.getpid(), signal.SIGINT)

atexit.register(interrupt)
from lifeboat_cli import main
main(["--version"])
"""
IGNORED = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import lifeboat_cli.program
lifeboat_cli.program.disable_core_dumps = lambda: os.kill(os.getpid(), signal.SIGINT)
from lifeboat_cli import main
main(["--version"])
"""


def _run(script: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"LIFEBOAT_HOME": str(home), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patience())


@pytest.mark.parametrize(
    "point",
    [
        "lifeboat_cli.program",
        "sqlite3",
        "click",
        "msgspec",
        "rich.console",
        "lifeboat_alf.errors",
        "lifeboat_core.errors",
        "lifeboat_keys.hardening",
        "lifeboat_cli.status.status_command",
        "lifeboat_core.home.context",
        "lifeboat_core.health.agent_status",
    ],
)
def test_ctrl_c_while_a_module_is_imported_prints_no_traceback(point: str, tmp_path: Path) -> None:
    done = _run(AT_IMPORT.format(point=point), tmp_path / "home")
    assert done.stdout == "reached\n"
    assert done.returncode in (-signal.SIGINT, 130)
    assert "Traceback" not in done.stderr and "KeyboardInterrupt" not in done.stderr
    assert done.stderr.strip() in ("", "The command was stopped. No change was left incomplete.")


def test_ctrl_c_while_the_process_exits_prints_no_traceback(tmp_path: Path) -> None:
    done = _run(AT_EXIT, tmp_path / "home")
    assert done.stdout.endswith("reached\n") and done.returncode == -signal.SIGINT
    assert done.stderr == ""


def test_a_background_job_that_ignores_ctrl_c_goes_on(tmp_path: Path) -> None:
    done = _run(IGNORED, tmp_path / "home")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("lifeboat, version ")
