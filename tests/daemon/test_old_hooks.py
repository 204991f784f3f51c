"""Names of earlier releases that other programs still call."""

from __future__ import annotations

import subprocess
import sys

from support.patience import patience


def test_a_session_hook_of_an_earlier_release_still_starts_the_command_line() -> None:
    program = "import sys; from lifeboat_daemon.earlier_hook_command import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience())
    assert "lifeboat" in done.stdout.lower()
