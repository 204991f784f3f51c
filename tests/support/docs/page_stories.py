"""What each page needs so that its commands run in order: a prepared home, answers, and names that stand for others.

A command is named by its text on the page, without comment. A command that cannot run in a test has a reason.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lifeboat_adapters.claude_code.path_spelling import project_slug
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_core.agents.agent import find_agent
from lifeboat_core.grants.agent_grant import give_grant
from lifeboat_core.grants.proposal_requests import begin_session, request_file, request_label
from lifeboat_core.grants.proposal_run import make_proposal
from lifeboat_core.home.context import Context
from support.adapters.profile_installs import make_claude_code, make_codex, make_hermes, write_files
from support.cli.cli_client import run
from support.docs.page_dialogs import (
    interrupt_after,
    press_keys,
    prove_words,
    purge_text,
    type_all_words,
    type_answers,
    write_down_words,
)
from support.docs.page_machine import Dialog, PageMachine
from support.endpoint.hosted_service import KEY
from support.endpoint.reference_client import ReferenceClient
from support.formats import aicf_files, aimem_bundles
from support.terminal import Terminal

Step = Callable[[PageMachine], None]


@dataclass(frozen=True)
class PageStory:
    """How the commands of one page are run."""

    prepare: Step = PageMachine.protect_juniper
    before: Mapping[str, Step] = field(default_factory=dict)
    """What happens before a command, beside what the page says: another machine, a file that arrived."""
    names: Mapping[str, Callable[[PageMachine], str]] = field(default_factory=dict)
    """Text of commands that stands for something else, such as `ID`."""
    dialogs: Mapping[str, Dialog] = field(default_factory=dict)
    """Commands that ask on a terminal, and their answers."""
    servers: Mapping[str, str] = field(default_factory=dict)
    """Commands that run until the page ends, and what they print once they have started."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Exit statuses other than 0."""
    complete: Callable[[str, PageMachine], str] = lambda text, machine: text
    """Makes a command of the page one that can run again and again."""
    not_run: Mapping[str, str] = field(default_factory=dict)
    """Beginnings of commands that are not run, with the reason."""


_ROOT = "installs system packages"
_PACKAGE = "needs a built package; tests/package installs it in a clean root"
_ELSEWHERE = "needs another program or a service of another machine"
_SCALE = "needs PostgreSQL and an object store; tests/scale runs such an endpoint"


# Events beside the page -------------------------------------------------------------------------------------------


def in_order(*steps: Step) -> Step:
    def run_steps(machine: PageMachine) -> None:
        for step in steps:
            step(machine)

    return run_steps


def _lose_machine(machine: PageMachine) -> None:
    """The machine is lost. The words of its key are known, and the endpoint still answers."""
    machine.learn_words()
    machine.move_to_new_machine()


def _export(machine: PageMachine, name: str = "juniper.alf") -> None:
    run("alf", "export", "openclaw", machine.workspace, "-o", machine.home / name)


def _receive_unsigned_archive(machine: PageMachine) -> None:
    """Another program made an archive, which nothing signed."""
    state = MemoryState()
    state.put("raw/openclaw/MEMORY.md", b"# Memory\n\nBen likes tulips.\n")
    with (machine.home / "juniper.alf").open("wb") as out:
        write_snapshot(state, out)


def _sync_with_reference_client(machine: PageMachine) -> None:
    """The reference client has sent two agents. The workspace of Ada is gone, so her import is not complete."""
    client = ReferenceClient(machine.start_hosted_service().url, KEY, machine.home / ".alf")
    machine.make_small_workspace()
    ada = machine.home / "ada"
    ada.mkdir()
    (ada / "SOUL.md").write_text("# Ada\n\nCurious and kind.\n")
    (ada / "MEMORY.md").write_text("# Memory\n\n## Tea\n\nLikes tea.\n")
    client.sync(machine.workspace)
    client.sync(ada)
    shutil.rmtree(ada)


def receive_memory_files(machine: PageMachine) -> None:
    (machine.home / "memory.aimem.json").write_bytes(aimem_bundles.document(aimem_bundles.sample()))
    (machine.home / "memory.aicf").write_bytes(aicf_files.FILES["D1-specified"])


def _write_notes(machine: PageMachine) -> None:
    """A folder of notes that no runtime made."""
    (machine.home / "notes").mkdir()
    (machine.home / "notes" / "garden.md").write_text("# Garden\n\nBen likes tulips.\n")


def _enable_hooks(machine: PageMachine) -> None:
    (machine.home / ".openclaw" / "openclaw.json").write_text('{"hooks": {"internal": {"enabled": true}}}')


def _set_data(folder: str) -> Step:
    """The operator has named the folder of the endpoint in a variable."""
    return lambda machine: machine.set_variable("LIFEBOAT_ENDPOINT_DATA", machine.relocate(folder))


def make_endpoint(machine: PageMachine) -> None:
    """An endpoint with one tenant, which does not run."""
    run("endpoint", "tenant", "add", "home", "--data", machine.relocate("/srv/lifeboat"))


def _write(name: str, text: str) -> Step:
    def write(machine: PageMachine) -> None:
        (machine.home / name).write_text(text)

    return write


def add_home_server(machine: PageMachine) -> None:
    """The machine has pushed its agent to an endpoint."""
    machine.start_endpoint()
    run("remote", "add", "home-server", machine.join)
    run("sync")


def _write_join_line(machine: PageMachine) -> None:
    machine.start_endpoint()
    (machine.home / "join.txt").write_text(f"{machine.join}\n")


def _write_passphrase(machine: PageMachine) -> None:
    file = machine.home / ".config" / "lifeboat-passphrase"
    file.parent.mkdir(exist_ok=True)
    file.write_text(PASSPHRASE)
    file.chmod(0o600)


def _leave_second_home(machine: PageMachine) -> None:
    """Return to the home that was used before the one without a desktop."""
    machine.remove_variable("LIFEBOAT_HOME")


def _make_letta_and_notes(machine: PageMachine) -> None:
    (machine.home / ".letta").mkdir()
    (machine.home / "notes").mkdir()
    (machine.home / "notes" / "garden.md").write_text("# Garden\n\nBen likes tulips.\n")


def _seen_code(machine: PageMachine) -> str:
    words = ("alf", "import", machine.home / "juniper.alf", "--to", machine.home / "juniper", "--accept-unsigned")
    return str(run(*words, "--dry-run")["seen"])


def _a_memory(machine: PageMachine) -> str:
    return str(run("records", "list", "Juniper")["records"][0]["id"])


def _last_receipt(machine: PageMachine) -> str:
    return str(run("receipts", "list")["receipts"][0]["id"])


def _take_over_this_machine(machine: PageMachine) -> str:
    """The lost machine has the name of the machine that runs the test."""
    return f"--take-over {platform.node()}"


def type_join_line(terminal: Terminal, machine: PageMachine) -> None:
    terminal.wait_for(r"(?i)join line")
    terminal.type(machine.join)


def confirm_kit(terminal: Terminal, machine: PageMachine) -> None:
    """Type the name of the lost machine, which has the name of the machine that runs the test."""
    terminal.wait_for(r"Type '([^']+)' to continue")
    terminal.type(platform.node())


PASSPHRASE = "a boat under the bridge"
_LOCAL = "127.0.0.1:0"
SERVE = r"lifeboat\+https://\S+"
QUIT = press_keys((r"Juniper", "q"))


# Pages ------------------------------------------------------------------------------------------------------------


def _make_codex(machine: PageMachine) -> None:
    make_codex(machine.home)


def _make_claude_code(machine: PageMachine) -> None:
    made = make_claude_code(machine.home)
    write_files(machine.home, {"boats/README.md": "Boats.\n"})
    folder = made.workspace / "projects" / project_slug(str(machine.home / "boats"))
    write_files(folder, {"memory/red.md": "The red boat is for sale.\n"})


def _make_hermes(machine: PageMachine) -> None:
    make_hermes(machine.home)


def make_proposals(machine: PageMachine) -> None:
    """Let Juniper propose a label and a restored file."""
    context = Context.open()
    agent = find_agent(context, "Juniper")
    grant = give_grant(context, agent)
    with context.vault(agent.id) as vault:
        session = begin_session(agent, grant, vault, context.now())
        requests = (
            request_label(vault, agent, "before the move", "we move tomorrow"),
            request_file(vault, agent, "MEMORY.md", 0, "a note is missing"),
        )
        for request in requests:
            make_proposal(context, vault, session, grant, request)


STORIES: dict[str, PageStory] = {
    "README.md": PageStory(
        prepare=PageMachine.make_small_workspace,
        before={"lifeboat setup --kit kit.txt": in_order(PageMachine.move_to_new_machine, PageMachine.bring_files)},
        names={"0.0.0.0:8484": lambda machine: _LOCAL},
        dialogs={
            "lifeboat remote add home-server": type_join_line,
            "lifeboat keys init": write_down_words,
            "lifeboat setup --kit kit.txt": confirm_kit,
            "lifeboat purge Juniper": purge_text("tulips", endpoints=1),
        },
        servers={"lifeboat endpoint serve --data ~/lifeboat-endpoint --listen 0.0.0.0:8484": SERVE},
        not_run={"pipx install .": _PACKAGE},
    ),
    "docs/adapters.md": PageStory(
        prepare=PageMachine.protect_whole_agent,
    ),
    "docs/at-rest.md": PageStory(
        prepare=make_endpoint,
        not_run={
            "pipx inject": _PACKAGE,
            "bao write": _ELSEWHERE,
            "lifeboat endpoint tenant add acme": "asks a key service of the customer; tests/vault runs a substitute",
        },
    ),
    "docs/mcp.md": PageStory(
        before={"lifeboat agents hook Juniper --show": _enable_hooks, "lifeboat proposals": make_proposals}
    ),
    "docs/benchmarks.md": PageStory(not_run={"make bench": "takes an hour; the slow target `bench` runs each row"}),
    "docs/cadence.md": PageStory(
        before={"lifeboat agents hook Juniper": _enable_hooks},
        not_run={"lifeboat status": "shows what the daemon found in its hourly search; tests/daemon waits for one"},
    ),
    "docs/captures.md": PageStory(prepare=_receive_unsigned_archive, names={"CODE": _seen_code}),
    "docs/dashboard.md": PageStory(
        dialogs={
            "lifeboat": QUIT,
            "lifeboat tui timeline Juniper": QUIT,
            "lifeboat tui --readonly": QUIT,
            "lifeboat tui --demo": press_keys((r"ada", "q")),
        }
    ),
    "docs/endpoint-operating.md": PageStory(
        prepare=in_order(make_endpoint, _set_data("/srv/lifeboat")),
        names={
            "k7m2p9qa": lambda machine: str(run("endpoint", "token", "list", "home")["tokens"][-1]["id"]),
            "1200": lambda machine: "3",
        },
        dialogs={"lifeboat endpoint tenant remove office": type_answers((r"Type [^\n]* to continue", "office"))},
        not_run={
            f"lifeboat endpoint purges {word}": "needs a waiting purge; tests/cli/test_cli_endpoint_purges.py has one"
            for word in ("confirm", "refuse")
        },
    ),
    "docs/endpoint-scaling-operations.md": PageStory(
        not_run={
            start: _SCALE
            for start in (
                *("python3 -m venv", "/opt/lifeboat/bin/pip", "createdb", "export ", "pg_dump", "pg_restore", "rclone"),
                *("lifeboat endpoint", "lifeboat remote", "lifeboat sync"),
            )
        }
    ),
    "docs/endpoint.md": PageStory(
        names={"endpoint serve": lambda machine: f"endpoint serve --listen {_LOCAL}"},
        servers={"lifeboat endpoint serve --data /srv/lifeboat": SERVE},
    ),
    "docs/folder-profiles.md": PageStory(prepare=_write_notes),
    "docs/from-alf.md": PageStory(
        prepare=_sync_with_reference_client,
        dialogs={"lifeboat restore ada --to ~/ada --adopt --accept-unsigned": type_answers((r"anyway\?", "y"))},
        statuses={"lifeboat setup --from-alf": 1},
    ),
    "docs/guides/another-runtime.md": PageStory(prepare=PageMachine.protect_whole_agent),
    "docs/guides/bad-memory.md": PageStory(
        prepare=lambda machine: machine.protect_juniper(sequences=3), names={"ID": _a_memory}
    ),
    "docs/guides/leaked-secret.md": PageStory(
        prepare=in_order(PageMachine.protect_juniper, _write("secret.txt", "Ben likes tulips")),
        names={"ID": _last_receipt},
    ),
    "docs/guides/lost-laptop.md": PageStory(
        prepare=in_order(PageMachine.protect_juniper, add_home_server),
        before={
            "lifeboat setup --kit kit.txt": in_order(PageMachine.move_to_new_machine, PageMachine.bring_files),
            "lifeboat keys recover": PageMachine.move_to_new_machine,
        },
        names={"--take-over laptop": _take_over_this_machine},
        dialogs={
            "lifeboat keys init": write_down_words,
            "lifeboat setup --kit kit.txt": confirm_kit,
            "lifeboat keys recover": type_all_words,
            "lifeboat remote add home-server": type_join_line,
        },
        not_run={"lifeboat keys rotate": "replaces the key; tests/cli/test_cli_key_rotation.py runs each form"},
    ),
    "docs/guides/nas.md": PageStory(
        prepare=PageMachine.protect_juniper,
        names={"endpoint serve": lambda machine: f"endpoint serve --listen {_LOCAL}"},
        dialogs={"lifeboat remote add nas-endpoint": type_join_line},
        servers={"lifeboat endpoint serve --data /srv/lifeboat": SERVE},
    ),
    "docs/guides/codex.md": PageStory(prepare=_make_codex),
    "docs/guides/claude-code.md": PageStory(prepare=_make_claude_code),
    "docs/guides/hermes.md": PageStory(prepare=_make_hermes),
    "docs/guides/openclaw.md": PageStory(prepare=PageMachine.make_small_workspace),
    "docs/guides/other-runtimes.md": PageStory(
        prepare=_make_letta_and_notes,
        statuses={"lifeboat agents add ~/.letta": 1},
    ),
    "docs/guides/zeroclaw.md": PageStory(prepare=PageMachine.make_zeroclaw_install),
    "docs/history.md": PageStory(prepare=lambda machine: machine.protect_juniper(sequences=13)),
    "docs/installing.md": PageStory(
        prepare=in_order(PageMachine.protect_juniper, PageMachine.use_service_manager),
        not_run={
            "sudo apt": _ROOT,
            "pipx install": _PACKAGE,
            "uv tool": _PACKAGE,
            "python3 -m venv": _PACKAGE,
            "~/lifeboat/bin/pip": _PACKAGE,
            "brew": _ELSEWHERE,
            "podman": _ELSEWHERE,
        },
    ),
    "docs/interchange.md": PageStory(
        before={"lifeboat alf convert memory.aimem.json --to alf -o juniper.alf": receive_memory_files},
        statuses={"lifeboat alf validate memory.aicf --strict": 1},
        not_run={
            "lifeboat alf convert http": "needs a running Aionforge; tests/formats talks to a program with its tools"
        },
    ),
    "docs/keys.md": PageStory(
        before={
            "lifeboat keys prove": PageMachine.write_words,
            "export LIFEBOAT_PASSPHRASE_FILE=~/.config/lifeboat-passphrase": _write_passphrase,
            "lifeboat keys init --words-to ~/words --no-prove": lambda machine: machine.set_variable(
                "LIFEBOAT_HOME", str(machine.home / "without-desktop")
            ),
            "lifeboat keys recover": in_order(_leave_second_home, _export, _lose_machine, PageMachine.bring_files),
        },
        dialogs={
            "lifeboat keys init": write_down_words,
            "lifeboat keys prove": prove_words,
            "lifeboat keys export-kit --encrypt --with-access -o kit.age": type_answers(
                (r"(?i)passphrase[^\n]*: ", PASSPHRASE), (r"(?i)repeat[^\n]*: ", PASSPHRASE)
            ),
            "lifeboat keys recover": type_all_words,
        },
        not_run={
            "lifeboat keys init --store keyring": "needs the keyring of a desktop; tests/keys runs one",
            "lifeboat keys unlock": "needs a key with a passphrase; tests/keys has one",
            "lifeboat keys rotate": "replaces the key; tests/cli/test_cli_key_rotation.py runs each form",
        },
    ),
    "docs/older-clients.md": PageStory(
        not_run={"lifeboat": "needs an older client; tests/scenarios/test_older_clients.py runs one"}
    ),
    "docs/purge.md": PageStory(
        before={"lifeboat purge juniper --text-stdin --dry-run < text": _write("text", "tulips")},
        names={
            "01a1cd0d-dc00-7c35-bdca-66b17388b481": _a_memory,
            "01a1cd40-91c3-7d5e-8d0f-5c1f0e6c9a11": _last_receipt,
        },
        dialogs={"lifeboat purge juniper": purge_text("Ben likes tulips")},
    ),
    "docs/receipts.md": PageStory(
        prepare=in_order(
            PageMachine.protect_juniper, lambda machine: run("purge", "Juniper", "--text", "tulips", "--yes") and None
        ),
        names={"ID": _last_receipt},
        not_run={"lifeboat receipts confirm": "needs a purge that waits; tests/cli/test_cli_receipts.py has one"},
    ),
    "docs/remotes.md": PageStory(
        prepare=in_order(PageMachine.protect_juniper, _write_join_line),
        before={"lifeboat keys recover": _lose_machine},
        names={
            "stick file:///media/ada": lambda machine: "stick file:///media",
            "restore ada": lambda machine: "restore Juniper",
            "--adopt": lambda machine: f"--adopt --take-over {platform.node()}",
        },
        dialogs={
            "lifeboat keys recover": type_all_words,
            "lifeboat remote add home": type_join_line,
        },
        not_run={"lifeboat remote add home https:": "needs an endpoint with a public certificate"},
    ),
    "docs/service.md": PageStory(
        prepare=in_order(PageMachine.protect_juniper, PageMachine.use_service_manager),
        before={"lifeboat daemon status": lambda machine: run("daemon", "start") and None},
        dialogs={
            "lifeboat daemon log --follow": interrupt_after(r"\n"),
            "lifeboat log --follow": interrupt_after(r"\n"),
        },
        statuses={"lifeboat daemon log --follow": 130, "lifeboat log --follow": 130},
        not_run={"systemctl": "changes the unit of the service manager"},
    ),
    "docs/settings.md": PageStory(prepare=_write("address.txt", "https://ping.example.com/abc\n")),
    "docs/setup.md": PageStory(
        not_run={
            "lifeboat setup": "asks questions and installs the service; tests/cli/test_cli_setup_guided.py answers"
        }
    ),
    "docs/tutorial.md": PageStory(
        prepare=lambda machine: None,
        before={"rm -r ~/.openclaw ~/.local/share/lifeboat": PageMachine.learn_words},
        names={"127.0.0.1:8484": lambda machine: _LOCAL, "--take-over laptop": _take_over_this_machine},
        dialogs={
            "lifeboat keys init": write_down_words,
            "lifeboat keys recover": type_all_words,
            "lifeboat purge Juniper --workspace": purge_text("X4471290", endpoints=1),
            "lifeboat remote add home-server": type_join_line,
        },
        servers={"lifeboat endpoint serve --data ~/lifeboat-endpoint --listen 127.0.0.1:8484": SERVE},
    ),
}
