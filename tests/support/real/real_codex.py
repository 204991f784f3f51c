"""A real Codex CLI from npm, without any network but loopback. It is installed once into the cache of programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.patience import patience
from support.real import real_openclaw

VERSION = "0.169.0"
KEY = "sk-obvious-fake-0123456789abcdef"
_CONFIG = f"""\
model = "mock-1"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{real_openclaw.PORT}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"

[model_providers.quay]
name = "quay"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
experimental_bearer_token = "{KEY}-of-the-bearer"
http_headers = {{ "X-Access" = "{KEY}-of-a-header" }}
"""


def require() -> Path:
    """Return the folder of an installed Codex. Installs it if it is missing, and skips the test if that is
    impossible."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a network namespace is needed, which takes root on Linux")
    for program in ("npm", "unshare", "nsenter"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = real_openclaw.cache() / f"codex-{VERSION}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        result = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", f"@openai/codex@{VERSION}"],
            cwd=folder,
            env=os.environ | {"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            pytest.skip(f"npm could not install codex: {result.stderr.strip()[-300:]}")
        (folder / "complete").touch()
    return folder


_TRUST = """
import json, subprocess, sys
server = subprocess.Popen([sys.argv[1], "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(number, method, **values):
    server.stdin.write(json.dumps({"id": number, "method": method, "params": values}) + "\\n")
    server.stdin.flush()
    while (told := json.loads(server.stdout.readline())).get("id") != number:
        pass
    return told["result"]
ask(1, "initialize", clientInfo={"name": "test", "version": "1"})
[listed] = ask(2, "hooks/list", cwds=[sys.argv[2]])["data"]
trust = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed["hooks"]}
ask(3, "config/batchWrite", edits=[{"keyPath": "hooks.state", "value": trust, "mergeStrategy": "upsert"}])
server.kill()
"""
"""What `/hooks` does when the user trusts every hook, through the program's own server."""


@dataclass(frozen=True)
class RealCodex:
    """A Codex with a separate user home, inside of the namespace of process `namespace`. `log` is that of the model."""

    installed: Path
    user_home: Path
    namespace: int
    log: Path

    @property
    def home(self) -> Path:
        return self.user_home / ".codex"

    @property
    def program(self) -> str:
        return str(self.installed / "node_modules" / ".bin" / "codex")

    def configure(self) -> None:
        """Write the configuration that a user would write, and let the program add credentials as a user would."""
        self.home.mkdir(parents=True, mode=0o700)
        (self.home / "config.toml").write_text(_CONFIG)
        (self.home / "config.toml").chmod(0o600)
        self.run("login", "--with-api-key", input=f"{KEY}-of-the-login")
        self.run("mcp", "add", "search", "--env", f"SEARCH={KEY}-search", "--", "/bin/true")

    def run(self, *arguments: str, input: str = "") -> str:
        """Run one command of the real program, and return its output. Fails the test if the command fails."""
        return self._run([self.program, *arguments], input)

    def turn(self, message: str, *command: str) -> None:
        """Run one turn of the agent; `command` continues an earlier session."""
        self.run("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *command, message)

    def trust_hooks(self) -> None:
        """Trust every hook, as a user does with `/hooks`."""
        self._run([sys.executable, "-c", _TRUST, self.program, str(self.user_home)], "")

    def last_prompt(self) -> str:
        """Return the last request to the model, as JSON text."""
        bodies = [json.loads(line)["body"] for line in self.log.read_text().splitlines()]
        return json.dumps([body for body in bodies if body.get("input")][-1], ensure_ascii=False)

    def _run(self, command: list[str], input: str) -> str:
        result = subprocess.run(
            [*real_openclaw.inside(self.namespace), *command],
            cwd=self.user_home,
            env={"HOME": str(self.user_home), "PATH": os.environ["PATH"], "MOCK_KEY": "x"},
            input=input,
            capture_output=True,
            text=True,
            timeout=patience(240),
        )
        assert result.returncode == 0, f"{' '.join(command)}: {result.stderr[-2000:]}{result.stdout[-2000:]}"
        return result.stdout + result.stderr
