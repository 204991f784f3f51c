"""What `tests/run.py` started ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil

from support import waiting
from support.paths import TESTS
from support.patience import patience

LIKE_PYTEST = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], "process").write_text(str(os.getpid()))
try:
    time.sleep(3600)
except KeyboardInterrupt:
    pathlib.Path(sys.argv[1], "said").write_text("what failed so far")
"""
RUNNER = """
import signal, sys
sys.path.insert(0, sys.argv[1])
import run
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, run.end)
sys.exit(run.run_to_end([sys.executable, "-c", sys.argv[2], sys.argv[3]]))
"""


def test_tests_that_are_ended_say_what_they_know_and_leave_no_process(tmp_path: Path) -> None:
    started, said = tmp_path / "process", tmp_path / "said"
    with subprocess.Popen([sys.executable, "-c", RUNNER, str(TESTS), LIKE_PYTEST, str(tmp_path)]) as runner:
        try:
            process = int(waiting.until(lambda: started.is_file() and started.read_text()))
            runner.terminate()
            assert runner.wait(patience()) == 128 + signal.SIGTERM
        finally:
            runner.kill()
    assert not psutil.pid_exists(process)
    assert said.read_text() == "what failed so far"
