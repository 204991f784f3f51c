"""Real programs whose runtime a shipped profile describes, without any network but loopback: nanobot from PyPI,
opencode, Gemini CLI and goose from npm. Each is installed once into the cache of programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from support.patience import patience
from support.real import real_openclaw

KEY = "sk-obvious-fake-0123456789abcdef"
URL = f"http://127.0.0.1:{real_openclaw.PORT}"


@dataclass(frozen=True)
class ProfiledProgram(ABC):
    """A program with a separate user home, inside of the namespace of process `namespace`. `log` is that of the
    model."""

    user_home: Path
    namespace: int
    log: Path
    runtime: ClassVar[str]
    package: ClassVar[str]
    program: ClassVar[str]
    home: ClassVar[str]
    """The captured workspace, in the user's home."""
    settings: ClassVar[str]
    """The file of the workspace, or around it, in which the key of the provider lies."""
    made_again: ClassVar[tuple[str, ...]]
    """Files that the program makes and a capture leaves out."""

    @classmethod
    @abstractmethod
    def folder(cls) -> Path:
        """Return the folder of the installed program."""

    @classmethod
    def require(cls) -> None:
        """Install the program if it is missing, and skip the test if that is impossible."""
        if sys.platform != "linux" or os.geteuid() != 0:
            pytest.skip("a network namespace is needed, which takes root on Linux")
        if (cls.folder() / "complete").exists():
            return
        cls.folder().mkdir(parents=True, exist_ok=True)
        for command in cls.install():
            try:
                result = subprocess.run(
                    command,
                    cwd=cls.folder(),
                    env=os.environ | {"HOME": str(cls.folder())},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                )
            except FileNotFoundError:
                pytest.skip(f"{command[0]} is not installed")
            if result.returncode:
                pytest.skip(f"{cls.package} could not be installed: {result.stderr.strip()[-300:]}")
        (cls.folder() / "complete").touch()

    @classmethod
    def install(cls) -> list[list[str]]:
        return [["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1", cls.package]]

    @property
    def workspace(self) -> Path:
        return self.user_home / self.home

    def environment(self) -> dict[str, str]:
        return {}

    def run(self, *arguments: str) -> str:
        """Run one command of the real program in a project of the user, and return its output. Fails the test if the
        command fails."""
        project = self.user_home / "boats"
        project.mkdir(parents=True, exist_ok=True)
        result = subprocess.run(
            [*real_openclaw.inside(self.namespace), str(self.folder() / self.program), *arguments],
            cwd=project,
            env={"HOME": str(self.user_home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self.environment()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(240),
        )
        assert result.returncode == 0, f"{self.program} {arguments}: {result.stderr[-2000:]}{result.stdout[-2000:]}"
        return result.stdout

    @abstractmethod
    def configure(self) -> None:
        """Write the settings that a user would write: the mock model, with a key."""

    @abstractmethod
    def turn(self, message: str) -> None:
        """Run one turn of the agent."""

    @abstractmethod
    def remember(self, fact: str) -> None:
        """Let the program write a memory."""

    def last_request(self) -> str:
        """Return the last request to the model, as JSON text."""
        return json.dumps(json.loads(self.log.read_text().splitlines()[-1])["body"], ensure_ascii=False)


class RealNanobot(ProfiledProgram):
    runtime = "nanobot"
    package, program = "nanobot-ai==0.3.5", "bin/nanobot"
    home, settings = ".nanobot/workspace", "../config.json"
    made_again = (".git/",)

    @classmethod
    def folder(cls) -> Path:
        return real_openclaw.cache() / "nanobot-0.3.5"

    @classmethod
    def install(cls) -> list[list[str]]:
        quiet = ("--quiet", "--disable-pip-version-check")
        return [[sys.executable, "-m", "venv", "."], ["bin/pip", "install", *quiet, cls.package]]

    def configure(self) -> None:
        self.run("onboard")
        path = self.workspace.parent / "config.json"
        config = json.loads(path.read_text())
        config["agents"]["defaults"] |= {"model": "mock-1", "provider": "custom"}
        config["providers"]["custom"] |= {"apiKey": KEY, "apiBase": f"{URL}/v1"}
        path.write_text(json.dumps(config, indent=2))

    def turn(self, message: str) -> None:
        self.run("agent", "-m", message)

    def remember(self, fact: str) -> None:
        self.turn(f"REMEMBER: {fact}| IN: memory/MEMORY.md")


class RealOpencode(ProfiledProgram):
    runtime = "opencode"
    package, program = "opencode-ai@1.18.33", "node_modules/.bin/opencode"
    home, settings = ".config/opencode", "opencode.json"
    made_again = ("node_modules/",)

    @classmethod
    def folder(cls) -> Path:
        return real_openclaw.cache() / "opencode-1.18.33"

    def configure(self) -> None:
        options = {"baseURL": f"{URL}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"mock-1": {"name": "mock"}}}
        config = {
            "model": "mock/mock-1",
            "autoupdate": False,
            "provider": {"mock": provider},
            "permission": {"external_directory": "allow", "edit": "allow"},
        }
        self.workspace.mkdir(parents=True)
        (self.workspace / "opencode.json").write_text(json.dumps(config))

    def turn(self, message: str) -> None:
        self.run("run", message)

    def remember(self, fact: str) -> None:
        self.turn(f"REMEMBER: {fact}| IN: {self.workspace / 'AGENTS.md'}")


class RealGemini(ProfiledProgram):
    runtime = "gemini"
    package, program = "@google/gemini-cli@0.61.0", "node_modules/.bin/gemini"
    home, settings = ".gemini", "settings.json"
    made_again = ("history/", "installation_id", "tmp/boats/chats/", "tmp/boats/.project_root", "tmp/boats/logs.json")

    @classmethod
    def folder(cls) -> Path:
        return real_openclaw.cache() / "gemini-0.61.0"

    def environment(self) -> dict[str, str]:
        return {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": URL}

    def configure(self) -> None:
        server = {"command": "/bin/true", "env": {"SEARCH": KEY}}
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "mcpServers": {"search": server}}
        self.workspace.mkdir(parents=True)
        (self.workspace / "settings.json").write_text(json.dumps(settings))

    def turn(self, message: str) -> None:
        # A named model needs no request that chooses one.
        self.run("--skip-trust", "--approval-mode", "yolo", "--model", "gemini-2.5-pro", "--prompt", message)

    def remember(self, fact: str) -> None:
        self.turn(f"REMEMBER: {fact}")


class RealGoose(ProfiledProgram):
    runtime = "goose"
    package, program = "@aaif/goose-binary-linux-x64@0.20.2", "node_modules/@aaif/goose-binary-linux-x64/bin/goose"
    home, settings = ".config/goose", "secrets.yaml"
    made_again = ()

    @classmethod
    def folder(cls) -> Path:
        return real_openclaw.cache() / "goose-0.20.2"

    def environment(self) -> dict[str, str]:
        return {"GOOSE_DISABLE_KEYRING": "1"}

    def configure(self) -> None:
        memory = {"type": "builtin", "name": "memory", "enabled": True, "bundled": True, "timeout": 300}
        model = {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "mock-1", "OPENAI_HOST": URL}
        self.workspace.mkdir(parents=True)
        # YAML reads JSON, too.
        (self.workspace / "config.yaml").write_text(json.dumps({**model, "extensions": {"memory": memory}}))
        (self.workspace / "secrets.yaml").write_text(f"OPENAI_API_KEY: {KEY}\n")

    def turn(self, message: str) -> None:
        self.run("run", "--no-session", "--text", message)

    def remember(self, fact: str) -> None:
        self.turn(f"REMEMBER: {fact}")


PROGRAMS: tuple[type[ProfiledProgram], ...] = (RealNanobot, RealOpencode, RealGemini, RealGoose)
