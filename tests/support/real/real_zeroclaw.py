"""A real ZeroClaw, built with cargo, without any network but loopback.

No registry contains its program, so `make everything` builds it once into the cache of `real_openclaw` (ten minutes on
two cores). Tests that need it are skipped until then.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.patience import patience
from support.real import real_openclaw

VERSION = "0.8.7"
FOLDER = real_openclaw.cache() / f"zeroclaw-{VERSION}"
PROGRAM = FOLDER / "bin" / "zeroclaw"
BUILD = [
    *("cargo", "install", f"zeroclaw@{VERSION}", "--locked", "--ignore-rust-version", "--debug"),
    *("--no-default-features", "--features", "agent-runtime", "--root", str(FOLDER)),
]


def build() -> str:
    """Build the program if it is missing. Returns why it is still missing, or ""."""
    if PROGRAM.is_file():
        return ""
    if not shutil.which("cargo"):
        return "cargo is not installed"
    ended = subprocess.run(BUILD, stdin=subprocess.DEVNULL, check=False)
    return f"cargo ended with {ended.returncode}" if ended.returncode else ""


def require() -> Path:
    """Return the program. Skips the test if it was not built."""
    if sys.platform != "linux":
        pytest.skip("a network namespace is needed")
    if not PROGRAM.is_file():
        pytest.skip(f"ZeroClaw is not built: {' '.join(BUILD)}")
    return PROGRAM


@dataclass(frozen=True)
class ZeroClaw:
    """A ZeroClaw with the home `home`, inside of the namespace of process `namespace`."""

    program: Path
    home: Path
    namespace: int
    log: Path

    def run(self, *arguments: str) -> str:
        """Run one command of the real program, and return its output. Fails the test if the command fails."""
        result = subprocess.run(
            [*real_openclaw.inside(self.namespace), str(self.program), "--config-dir", str(self.home), *arguments],
            env={"HOME": str(self.home.parent), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(),
        )
        assert result.returncode == 0, f"zeroclaw {' '.join(arguments)}: {result.stderr[-2000:]}{result.stdout[-2000:]}"
        return result.stdout

    def turn(self, message: str) -> str:
        """Run one turn of the agent Ada, and return the answer."""
        return self.run("agent", "--agent", "ada", "--message", message)

    def last_prompt(self) -> str:
        """Return all messages of the last request to the model, as JSON text."""
        bodies: list[dict[str, Any]] = [json.loads(line)["body"] for line in self.log.read_text().splitlines()]
        return json.dumps(bodies[-1]["messages"], ensure_ascii=False)
