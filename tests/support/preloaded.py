"""Child processes of tests that run the program, without the third of a second in which Python imports it.

Each process of tests starts one more process when it first needs it: the preloader. It imports the program and forks a
child for each request. A child has the environment, working directory, umask, standard streams and exit status that
`subprocess` would give it. Python reads some variables only when it starts: each set of them has its own preloader.

Tests of how the program starts, which modules it loads, how much memory it takes, or what `/proc` says of its command
must use `subprocess`.
"""

from __future__ import annotations

import array
import asyncio
import atexit
import contextlib
import ctypes
import gc
import importlib
import inspect
import io
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from support.paths import TESTS

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "COVERAGE_")
"""Prefixes of variables that Python reads when it starts."""
_PRELOADED = (
    "lifeboat_daemon.service.daemon_process",
    "lifeboat_daemon.service.daemon_service",
    "lifeboat_daemon.watch.agent_watcher",
    "lifeboat_daemon.work.worker_loop",
    "lifeboat_daemon.work.operations.capture",
)
_HEADER = struct.Struct("!II")
"""Bytes of the request, and of its pid in the answer."""
_MOST_DESCRIPTORS = 4096
"""More descriptors than the preloader ever has."""


@dataclass(frozen=True)
class Call:
    """A function of a module with its arguments."""

    module: str
    function: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    """Further modules that the preloader imports for this child and for those that follow."""

    @property
    def command(self) -> tuple[str, ...]:
        """The command that does the same in a process that Python starts with `PYTHONPATH=TESTS`."""
        given = f"*{self.arguments!r}, **{dict(self.options)!r}"
        return (sys.executable, "-c", f"from {self.module} import {self.function}; {self.function}({given})")


def inline(code: str) -> Call:
    """Return the call that runs code as `python -c` does."""
    return Call("builtins", "exec", (code, {"__name__": "__main__"}))


def script(path: str | Path) -> Call:
    """Return the call that runs a file as a program."""
    return Call("runpy", "run_path", (str(path),), {"run_name": "__main__"})


@dataclass(frozen=True)
class _Request:
    call: Call
    words: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    umask: int
    session: bool
    before: Callable[[], object] | None


class Popen(subprocess.Popen[Any]):
    """Like `subprocess.Popen` for `lifeboat WORDS` or a function. The child inherits only its three streams. Of the
    start options it supports `cwd`, `env`, `start_new_session` and `preexec_fn`, which must be a function of a
    module."""

    def __init__(self, run: Sequence[str | Path] | Call, words: Sequence[str] = ("-c",), **options: Any) -> None:
        """Start a child. For a function, `words` becomes `sys.argv`."""
        if isinstance(run, Call):
            self._call = run
        else:
            self._call, words = Call("lifeboat_cli", "main"), ["lifeboat", *map(str, run)]
        super().__init__(words, **options)

    def _execute_child(self, *given: Any) -> None:
        """Ask the preloader for the child that `subprocess` would have made."""
        how = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        environment = os.environ if how["env"] is None else how["env"]
        request = _Request(
            call=self._call,
            words=how["args"],
            environment={str(name): str(value) for name, value in environment.items()},
            folder=os.fspath(how["cwd"] or os.getcwd()),
            umask=_umask(),
            session=how["start_new_session"],
            before=how["preexec_fn"],
        )
        pipes = [how[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        inherited = enumerate((how["p2cread"], how["c2pwrite"], how["errwrite"]))
        streams = [number if descriptor < 0 else descriptor for number, descriptor in inherited]
        try:
            self.pid = _Preloader.of_this_process(request.environment).fork(request, streams)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def run(
    run: Sequence[str | Path] | Call,
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Like `subprocess.run`, with `Popen` of this module."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(run, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args, out, err)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextlib.contextmanager
def forking_of(calls: Mapping[tuple[str, ...], Call]) -> Iterator[None]:
    """Let asyncio start commands with these beginnings by calling a function in a fork of the preloader. The rest of
    the command is in `sys.argv`."""

    before = asyncio.unix_events.subprocess  # type: ignore[attr-defined]
    asyncio.unix_events.subprocess = module_that_forks(calls)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        asyncio.unix_events.subprocess = before  # type: ignore[attr-defined]


def module_that_forks(calls: Mapping[tuple[str, ...], Call]) -> SimpleNamespace:
    """Return the module `subprocess` with another `Popen`; see `forking_of`."""

    def start(command: Sequence[str], *, shell: bool = False, **options: Any) -> subprocess.Popen[Any]:
        for beginning, call in calls.items():
            if tuple(command[: len(beginning)]) == beginning:
                return Popen(call, (beginning[-1], *command[len(beginning) :]), **options)
        return subprocess.Popen(command, shell=shell, **options)

    return SimpleNamespace(**{**vars(subprocess), "Popen": start})


def fork_preloader() -> None:
    """Make a fork of this process its preloader. This process has loaded the program, has one thread, and holds no
    resources."""
    _Preloader.of_this_process(os.environ, start=_fork_server)


def _umask() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    raise AssertionError("the system does not tell the umask")


class _Preloader:
    """Preloader of one test process, as that process sees it."""

    _all: ClassVar[dict[object, _Preloader]] = {}
    _starting = threading.Lock()

    def __init__(self, variables: Mapping[str, str], start: Callable[[socket.socket, Mapping[str, str]], int]) -> None:
        self._asking = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self.pid = start(theirs, variables)
        atexit.register(self._end)

    @classmethod
    def of_this_process(
        cls, environment: Mapping[str, str], start: Callable[[socket.socket, Mapping[str, str]], int] | None = None
    ) -> _Preloader:
        """Return the preloader for an environment. A forked test process gets a preloader separate from that of its
        parent."""
        variables = {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}
        key = (os.getpid(), *sorted(variables.items()))
        with cls._starting:
            if key not in cls._all:
                cls._all[key] = cls(variables, start or _spawn_server)
            return cls._all[key]

    def fork(self, request: _Request, streams: Sequence[int]) -> int:
        """Return the pid of the child, whose parent is this process."""
        data = pickle.dumps(request)
        with self._asking:
            # an orphan is adopted by the closest ancestor that is a subreaper
            _set_subreaper(True)
            try:
                socket.send_fds(self._socket, [_HEADER.pack(len(data), 0)], list(streams))
                self._socket.sendall(data)
                answer = _read_exactly(self._socket, _HEADER.size)
            finally:
                _set_subreaper(False)
        pid: int = _HEADER.unpack(answer)[1]
        return pid

    def _end(self) -> None:
        self._socket.close()
        os.waitpid(self.pid, 0)


def _spawn_server(connection: socket.socket, variables: Mapping[str, str]) -> int:
    code = f"import lifeboat_daemon, sys; sys.path.append({str(TESTS)!r}); "
    code += f"from support.preloaded import serve; serve({connection.fileno()})"
    # the home and settings of the first test must not leak into other tests
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", **variables}
    command = [sys.executable, "-P", "-c", code]
    actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    connection.set_inheritable(True)
    pid: int = os.posix_spawn(sys.executable, command, environment, file_actions=actions)
    return pid


def _fork_server(connection: socket.socket, variables: Mapping[str, str]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            descriptor = os.dup2(connection.fileno(), 3)
            os.closerange(4, _MOST_DESCRIPTORS)
            _serve_requests(descriptor)
        finally:
            os._exit(1)
    return pid


def _set_subreaper(wanted: bool) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, int(wanted), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError("the other process has ended")
        data += more
    return data


# In the preloader -----------------------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """Import the program, and fork a child for each request until the test process ends. In a child, carry out the
    request and end."""
    os.chdir("/")
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, _MOST_DESCRIPTORS)
    gc.disable()  # children would write to shared memory pages; each enables it for itself
    _import_program()
    _serve_requests(descriptor)


def _serve_requests(descriptor: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the tests
    with socket.socket(fileno=descriptor) as connection:
        while True:
            try:
                request, streams = _next_request(connection)
            except (EOFError, ConnectionError):
                os._exit(0)
            for name in request.call.imports:
                importlib.import_module(name)
            pid = _fork_orphan(request, streams)
            for each in streams:
                os.close(each)
            connection.sendall(_HEADER.pack(0, pid))


def _import_program() -> None:
    from lifeboat_cli.command_server import preloading

    preloading.load_modules()
    for name in _PRELOADED:
        importlib.import_module(name)


def _next_request(connection: socket.socket) -> tuple[_Request, list[int]]:
    streams = array.array("i")
    header, ancillary, _, _ = connection.recvmsg(_HEADER.size, socket.CMSG_SPACE(3 * streams.itemsize))
    if not header:
        raise EOFError("the process of tests has ended")
    for level, kind, data in ancillary:
        assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        streams.frombytes(data)
    header += _read_exactly(connection, _HEADER.size - len(header))
    request: _Request = pickle.loads(_read_exactly(connection, _HEADER.unpack(header)[0]))
    return request, list(streams)


def _fork_orphan(request: _Request, streams: Sequence[int]) -> int:
    """Fork a child by way of a process that ends at once. Return the pid of the child, which thereby has another
    parent."""
    told, tell = os.pipe()
    adopted, not_adopted = os.pipe()
    between = os.fork()
    if between == 0:
        child = os.fork()
        if child == 0:
            os.close(not_adopted)
            os.read(adopted, 1)  # returns when both other processes have closed their end
            _be_child(request, streams)
        os.write(tell, _HEADER.pack(0, child))
        os._exit(0)
    os.waitpid(between, 0)
    pid: int = _HEADER.unpack(os.read(told, _HEADER.size))[1]
    for each in (told, tell, adopted, not_adopted):
        os.close(each)
    return pid


# In a child -----------------------------------------------------------------------------------------------------------


def _be_child(request: _Request, streams: Sequence[int]) -> None:
    """Carry out the request in this process. Never returns."""
    status = 1
    try:
        _take_surroundings(request, streams)
        status = _call(request.call)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _take_surroundings(request: _Request, streams: Sequence[int]) -> None:
    for number, each in enumerate(streams):
        os.dup2(each, number)  # `each` is above 2: the preloader itself has streams
    os.closerange(3, _MOST_DESCRIPTORS)
    if request.session:
        os.setsid()
    os.chdir(request.folder)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    if request.before is not None:
        request.before()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = list(request.words)
    gc.freeze()
    gc.enable()
    sys.stdin = sys.__stdin__ = _opened_like(sys.stdin, "rb")
    sys.stdout = sys.__stdout__ = _opened_like(sys.stdout, "wb")
    sys.stderr = sys.__stderr__ = _opened_like(sys.stderr, "wb")


def _opened_like(stream: Any, mode: str) -> Any:
    """Open the current descriptor of a stream in the way in which Python opened the stream at its start."""
    is_unbuffered = stream.write_through and mode == "wb"
    opened = open(stream.fileno(), mode, buffering=0 if is_unbuffered else -1, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        opened,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or (opened.isatty() and not stream.write_through),
        write_through=stream.write_through,
    )


def _call(call: Call) -> int:
    """Call the function like the main program of a Python process, and return the exit status."""
    status, is_interrupted = 0, False
    try:
        getattr(importlib.import_module(call.module), call.function)(*call.arguments, **call.options)
    except SystemExit as end:
        status = _status_of(end)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status, is_interrupted = 1, isinstance(error, KeyboardInterrupt)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    if is_interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return status


def _status_of(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1
