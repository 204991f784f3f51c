"""A child of the preloader behaves as a process that `subprocess` starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import preloaded
from support.paths import TESTS
from support.patience import patience
from support.preloaded import inline

_SEEN = """
import json, os, resource, signal, subprocess, sys, tempfile, threading
print(json.dumps({
    "environment": dict(os.environ),
    "system": sorted(subprocess.run("env", capture_output=True, text=True).stdout.splitlines()),
    "home": os.path.expanduser("~"),
    "temporary": tempfile.gettempdir(),
    "folder": os.getcwd(),
    "umask": os.umask(0),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "session": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "parent": os.getppid(),
    "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
    "signals": [str(signal.getsignal(each)) for each in sorted(signal.valid_signals()) if each != signal.SIGINT],
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "limits": [resource.getrlimit(each) for each in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE)],
    "argv": sys.argv,
    "encodings": [sys.stdin.encoding, sys.stdout.encoding, sys.stderr.encoding, sys.stderr.errors],
    "terminals": [each.isatty() for each in (sys.stdin, sys.stdout, sys.stderr)],
    "text": sys.stdin.read(),
}))
"""
_ENDS = {
    "returns": "print('said')",
    "status": "import sys; sys.exit(3)",
    "large status": "import sys; sys.exit(259)",
    "text": "import sys; sys.exit('why it ended')",
    "nothing": "raise SystemExit",
    "error": "raise ValueError('broken')",
    "interrupt": "raise KeyboardInterrupt",
    "signalled": "import signal; signal.signal(2, signal.default_int_handler); signal.raise_signal(2)",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "at once": "import os; print('not flushed'); os._exit(5)",
    "handlers": "import atexit; atexit.register(print, 'at the end'); print('before'); raise SystemExit(4)",
    "thread": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
    "full": "import os, sys; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); print('lost')",
    "program": "import subprocess; subprocess.run(['echo', 'from a program'])",
    "descriptors": "import os; os.write(1, b'out'); os.write(2, b'err')",
}


def both(code: str, **options: Any) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """Run code as a child of the preloader, and by `subprocess`."""
    options = {"capture_output": True, "text": True, "timeout": patience(), **options}
    ours = preloaded.run(inline(code), **options)
    return ours, subprocess.run([sys.executable, "-c", code], check=False, **options)


@pytest.mark.parametrize("code", _ENDS.values(), ids=_ENDS.keys())
def test_a_child_ends_as_any_process_of_python(code: str) -> None:
    ours, theirs = both(code)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    assert ours.stderr.splitlines()[-1:] == theirs.stderr.splitlines()[-1:] or "full" in code


@pytest.mark.parametrize("session", [False, True])
def test_a_child_has_the_surroundings_that_it_was_given_and_no_others(
    tmp_path: Path, session: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_TEST", "here")
    here = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "TZ": "Asia/Tokyo"}
    before = os.umask(0o027)
    try:
        ours, theirs = both(_SEEN, input="given", env=here, cwd=tmp_path, start_new_session=session)
        inherited, as_inherited = both("import os; print(os.environ['OF_THE_TEST'], os.getcwd(), os.umask(0))")
    finally:
        os.umask(before)
    assert ours.stderr == "" and json.loads(ours.stdout) == json.loads(theirs.stdout)
    assert inherited.stdout == as_inherited.stdout == f"here {os.getcwd()} {0o027}\n"


def test_two_children_share_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, random, sys
import lifeboat_daemon, nacl.utils
print(os.environ.get("SET"), getattr(lifeboat_daemon, "changed", None), "seen" in sys.modules, os.getcwd())
print(random.random(), nacl.utils.random(16), os.getpid())
os.environ["SET"], lifeboat_daemon.changed, sys.modules["seen"] = "by a child", True, sys
os.chdir("/")
"""
    monkeypatch.chdir(tmp_path)
    first, second = (preloaded.run(inline(code), capture_output=True, text=True).stdout.splitlines() for _ in range(2))
    assert first[0] == second[0] == f"None None False {tmp_path}"
    assert not set(first[1].split(maxsplit=1)) & set(second[1].split(maxsplit=1))


def test_the_words_of_a_command_reach_the_program(isolated_home: Path) -> None:
    done = preloaded.run(["config", "--no-such-option"], capture_output=True, text=True)
    assert done.returncode == 2 and "lifeboat config --help" in done.stderr
    assert preloaded.run(["--version"], capture_output=True, check=True).stdout.startswith(b"lifeboat, version")
    with pytest.raises(subprocess.CalledProcessError):
        preloaded.run(["no-such-command"], capture_output=True, check=True)
    assert preloaded.run(["status", "--json"], capture_output=True).returncode in (0, 1)


def test_signals_reach_a_child_and_a_wait_has_a_limit() -> None:
    code = "print('begun', flush=True); import time; time.sleep(3600)"
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
        with preloaded.Popen(inline(code), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout is not None and child.stdout.readline() == b"begun\n"
            assert child.poll() is None and psutil.Process(child.pid).ppid() == os.getpid()
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.01)
            child.send_signal(number)
            assert child.wait(patience()) == -number == child.returncode
    with pytest.raises(subprocess.TimeoutExpired):
        preloaded.run(inline(code), stdout=subprocess.DEVNULL, timeout=0.01)


def test_what_python_reads_when_it_starts_is_as_the_environment_says() -> None:
    here = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
    here |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONUNBUFFERED": "1"}
    code = (
        "import os, sys\n"
        "for each in (sys.stdin, sys.stdout, sys.stderr):\n"
        "    print(each.encoding, each.errors, each.line_buffering, each.write_through)\n"
        "print(sys.flags.utf8_mode, os.environ['LC_ALL']); os._exit(0)"
    )
    ours, theirs = both(code, env=here)
    assert "ascii surrogateescape" in ours.stdout and ours.stdout == theirs.stdout


_TESTS_THAT_END = """
import os, signal, subprocess, sys
from support import preloaded
def told(): print(os.getpid(), os.getppid(), preloaded._Preloader.of_this_process(os.environ).pid, flush=True)
code = "import os; print(os.getppid(), flush=True)"
preloaded.run(preloaded.Call("builtins", "exec", (code, {})))
told()
if os.fork() == 0:
    preloaded.run(preloaded.Call("builtins", "exec", (code, {})))
    told()
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""


def test_a_preloader_belongs_to_one_process_and_ends_with_it() -> None:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", _TESTS_THAT_END]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        parent = int(tests.stdout.readline())
        first, _, preloader = map(int, tests.stdout.readline().split())
        parent_in_fork = int(tests.stdout.readline())
        fork, fork_parent, other_preloader = map(int, tests.stdout.readline().split())
        assert parent == first == fork_parent == tests.pid and parent_in_fork == fork != first
        assert preloader != other_preloader
        both_of_them = [psutil.Process(preloader), psutil.Process(other_preloader)]
        tests.kill()
        psutil.Process(fork).kill()
        _, alive = psutil.wait_procs(both_of_them, timeout=patience())
    assert not alive
