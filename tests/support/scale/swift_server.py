"""A temporary OpenStack Swift with its S3 interface, on loopback: a real object store. Tests are skipped with a reason
without root or its packages.

Swift reads only `/etc/swift`, so it runs in a separate mount namespace in which that is a temporary folder, and in a
process namespace, so that all its processes end with the first one.
"""

from __future__ import annotations

import atexit
import http.client
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from support.patience import patience

BUCKET = "lifeboat"
ACCESS_KEY, SECRET_KEY = "test:tester", "testing"
REGION = "us-east-1"
PROGRAMS = ("swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server", "memcached")
PACKAGES = "python3-swift swift-proxy swift-account swift-container swift-object memcached"
_PYTHON = "/usr/bin/python3"
"""The Python for which the packages are installed."""

_DEADLINE = 120.0

_CONF = """
[swift-hash]
swift_hash_path_suffix = {random}
swift_hash_path_prefix = {random}
[storage-policy:0]
name = Policy-0
default = yes
"""

_PROXY = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = root
log_address = {folder}/nolog
[pipeline:main]
pipeline = catch_errors cache listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
check_bucket_owner = false
allow_multipart_uploads = true
auth_pipeline_check = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
""" + "".join(
    f"[filter:{name}]\nuse = egg:swift#{name}\n"
    for name in ("catch_errors", "listing_formats", "bulk", "copy", "slo", "dlo", "symlink", "versioned_writes")
)
_PROXY += "allow_object_versioning = true\n"

_STORING = """
[DEFAULT]
devices = {folder}/srv
mount_check = false
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = root
log_address = {folder}/nolog
recon_cache_path = {folder}/cache
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""

_RINGS = """
import sys
from swift.common.ring import RingBuilder
for each in sys.argv[1:]:
    name, port = each.split(":")
    builder = RingBuilder(4, 1, 1)
    where = {"ip": "127.0.0.1", "port": int(port), "device": "d1"}
    where |= {"replication_ip": where["ip"], "replication_port": where["port"]}
    builder.add_dev({"region": 1, "zone": 1, "weight": 1, "meta": "", **where})
    builder.rebalance()
    builder.get_ring().save(name + ".ring.gz")
"""

_BEGIN = """
set -eu
mount --bind "$0/etc" /etc/swift
memcached -u root -l 127.0.0.1 -p "$1" -m 32 &
for name in account container object proxy; do
  swift-$name-server /etc/swift/$name.conf >"$0/$name.log" 2>&1 &
done
wait
"""


@dataclass(frozen=True)
class SwiftServer:
    """`address` is that of S3, path style; `folder` contains all its data below `srv`."""

    address: str
    folder: Path

    def url(self, prefix: str | None = None) -> str:
        """Return a place for the settings of an endpoint, an unused one unless named."""
        return f"s3://{BUCKET}/{prefix or secrets.token_hex(8)}"

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Return its options, with the keys in a file. `endpoint` is that of a proxy in front."""
        file = self.folder / "credentials"
        return {"endpoint": endpoint or self.address, "region": REGION, "credentials_file": str(file)}

    def kept(self) -> Iterator[Path]:
        """Yield every file of every object and of every object list."""
        return (path for path in (self.folder / "srv").rglob("*") if path.is_file())


def reason_without() -> str | None:
    """Return why it cannot run here, or None."""
    if os.getuid() != 0:
        return "Swift needs root: it gets a namespace of its own"
    missing = [program for program in (*PROGRAMS, "unshare", "setpriv") if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed: apt-get install {PACKAGES}"
    tried = subprocess.run(_isolated("true"), capture_output=True, check=False, timeout=patience())
    return f"there are no namespaces: {tried.stderr.decode(errors='replace').strip()}" if tried.returncode else None


@contextmanager
def running() -> Iterator[SwiftServer]:
    """Run Swift with an empty bucket, and delete everything that it wrote."""
    reason = reason_without()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as stack:
        yield _answering(stack)


def _answering(stack: ExitStack) -> SwiftServer:
    """Start the programs. Free ports are chosen again if one is taken before all five programs run."""
    for last in (False, False, True):
        with ExitStack() as attempt:
            folder = Path(tempfile.mkdtemp(prefix="swift-test."))
            attempt.callback(shutil.rmtree, folder, ignore_errors=True)
            ports = _configured(folder)
            process = _begun(folder, ports["memcached"])
            attempt.callback(process.wait, 20)
            attempt.callback(process.kill)
            try:
                _make_bucket(ports["proxy"], process, folder)
            except RuntimeError:
                if last:
                    raise
                continue
            stack.push(attempt.pop_all())
            return SwiftServer(f"http://127.0.0.1:{ports['proxy']}", folder)
    raise AssertionError("unreachable")


def _begun(folder: Path, memcached: int) -> subprocess.Popen[bytes]:
    command = _isolated("sh", "-c", _BEGIN, str(folder), str(memcached))
    with (folder / "begin.log").open("wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@lru_cache(maxsize=1)
def shared() -> SwiftServer:
    """Return one server for all tests of this process, because starting takes seconds. Each test uses a different
    prefix."""
    stack = ExitStack()
    server = stack.enter_context(running())
    atexit.register(stack.close)
    return server


def _isolated(*command: str) -> list[str]:
    """Return the prefix of a command that ends with this process in any case."""
    alone = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return ["setpriv", "--pdeathsig", "KILL", *alone, *command]


def _configured(folder: Path) -> dict[str, int]:
    """Write the configuration, and return the port of each program."""
    names = ("account", "container", "object")
    ports = dict(zip((*names, "proxy", "memcached"), _free_ports(5), strict=True))
    for each in ("etc", "srv/d1", "cache"):
        (folder / each).mkdir(parents=True)
    (folder / "etc/swift.conf").write_text(_CONF.format(random=secrets.token_hex(16)))
    text = _PROXY.format(port=ports["proxy"], memcached=ports["memcached"], secret=SECRET_KEY, folder=folder)
    (folder / "etc/proxy.conf").write_text(text)
    for name in names:
        text = _STORING.format(name=name, port=ports[name], folder=folder)
        (folder / f"etc/{name}.conf").write_text(text)
    rings = [_PYTHON, "-c", _RINGS, *(f"{name}:{ports[name]}" for name in names)]
    subprocess.run(rings, cwd=folder / "etc", check=True, timeout=patience())
    keys = f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
    (folder / "credentials").write_text(keys)
    (folder / "credentials").chmod(0o600)
    return ports


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in taken:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in taken]


def _make_bucket(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Create the bucket through Swift's native interface, repeatedly until it works: then all programs are ready."""
    until = time.monotonic() + patience(_DEADLINE)
    while time.monotonic() < until and process.poll() is None:
        try:
            token = _asked(port, "GET", "/auth/v1.0", {"X-Auth-User": ACCESS_KEY, "X-Auth-Key": SECRET_KEY})
            if (
                _asked(port, "PUT", f"/v1/AUTH_test/{BUCKET}", {"X-Auth-Token": token or "", "Content-Length": "0"})
                == ""
            ):
                return
        except OSError:
            pass
        time.sleep(0.1)
    said = b"".join(path.read_bytes()[-2000:] for path in folder.glob("*.log"))
    raise RuntimeError(f"Swift did not start: {said.decode(errors='replace')}")


def _asked(port: int, method: str, path: str, headers: dict[str, str]) -> str | None:
    """Return the token in the answer, "" if there is none, None for an error."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience())
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.getheader("X-Auth-Token", "") if answer.status < 300 else None
    finally:
        connection.close()
