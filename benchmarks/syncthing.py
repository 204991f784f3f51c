"""Syncthing beside the service: it watches one local folder and has no peers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

PATIENCE = 300.0
_FOLDER = "bench"
_OFF = ("globalAnnounceEnabled", "localAnnounceEnabled", "relaysEnabled", "natEnabled", "crashReportingEnabled")
_OPTIONS = {**dict.fromkeys(_OFF, "false"), "urAccepted": "-1", "autoUpgradeIntervalH": "0", "startBrowser": "false"}


class Syncthing:
    """A running Syncthing. `delay` is the seconds for which it collects changes before a scan."""

    def __init__(self, process: subprocess.Popen[bytes], gui: str, key: str, delay: int) -> None:
        self._process = process
        self._gui = gui
        self._key = key
        self._last = 0
        self.delay = delay

    @property
    def pid(self) -> int:
        return self._process.pid

    def scan(self, below: str = "") -> None:
        """Scan the folder or a part of it, and wait until the scan has ended."""
        self._ask("POST", "/rest/db/scan", folder=_FOLDER, sub=below)

    def listen(self) -> None:
        """Let `updated` report only later events."""
        while found := self._events(1):
            self._last = found[-1]["id"]

    def updated(self) -> float:
        """Wait until a change is in its index, and return when, on this process' clock."""
        found = self._events(60)
        moment = time.monotonic()
        if not found:
            raise SystemExit("syncthing saw no change for a minute")
        self._last = found[-1]["id"]
        return moment

    def is_idle(self) -> bool:
        """Return True if it has read the whole folder."""
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            found = self._ask("GET", "/rest/db/status", folder=_FOLDER)
            return bool(found["state"] == "idle" and found["localFiles"])
        return False

    def wait_until_idle(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.is_idle():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("syncthing did not come to rest")
            time.sleep(0.1)

    def _events(self, timeout: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask(
            "GET", "/rest/events", events="LocalIndexUpdated", since=str(self._last), timeout=str(timeout)
        )
        return found

    def _ask(self, method: str, path: str, **parameters: str) -> Any:
        address = f"http://{self._gui}{path}?{urlencode(parameters)}"
        request = urllib.request.Request(address, method=method, headers={"X-API-Key": self._key})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            body = answer.read()
        return json.loads(body) if body.strip() else None


@contextlib.contextmanager
def syncthing(folder: Path, tree: Path, *, delay: int = 10) -> Iterator[Syncthing | None]:
    """Run Syncthing on `tree` with its data in `folder`, after the first scan; None if it is not installed."""
    if shutil.which("syncthing") is None:
        yield None
        return
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "STNOUPGRADE": "1"}
    folder.mkdir(parents=True)
    generate = ["syncthing", "generate", f"--home={folder}", "--no-default-folder", "--skip-port-probing"]
    subprocess.run(generate, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    gui, key = _configure(folder / "config.xml", tree, delay)
    with (folder / "out").open("ab") as out:
        process = subprocess.Popen(
            ["syncthing", "serve", f"--home={folder}", "--no-browser", "--no-upgrade", "--logfile=-"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        found = Syncthing(process, gui, key, delay)
        found.wait_until_idle()
        yield found
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)


def _configure(file: Path, tree: Path, delay: int) -> tuple[str, str]:
    """Write a configuration with one folder and without discovery, relays, port mapping, reports and upgrades. Return
    address and API key."""
    document = ElementTree.parse(file)
    root = document.getroot()
    gui = f"127.0.0.1:{_free_port()}"
    for name, value in {**_OPTIONS, "listenAddress": f"tcp://127.0.0.1:{_free_port()}"}.items():
        _element(root, f"options/{name}").text = value
    _element(root, "gui/address").text = gui
    template = _element(root, "defaults/folder")
    attributes = {"id": _FOLDER, "label": _FOLDER, "path": str(tree), "fsWatcherDelayS": str(delay)}
    watched = ElementTree.Element("folder", {**template.attrib, **attributes})
    watched.extend(list(template))
    root.insert(0, watched)
    document.write(file)
    return gui, _element(root, "gui/apikey").text or ""


def _element(root: ElementTree.Element, path: str) -> ElementTree.Element:
    found = root.find(path)
    if found is None:
        raise SystemExit(f"syncthing's settings have no {path}")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
