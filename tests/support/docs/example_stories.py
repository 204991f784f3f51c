"""What the examples of docs/commands.md need so that they run, and why some do not run there.

The examples of one group run in order on one machine, which has an agent, a remote, and the files that examples name.
"""

from __future__ import annotations

import re

from support.adapters import openclaw_workspaces
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
from support.docs.page_machine import PageMachine
from support.docs.page_stories import (
    QUIT,
    SERVE,
    PageStory,
    add_home_server,
    confirm_kit,
    in_order,
    make_proposals,
    receive_memory_files,
    type_join_line,
)
from support.docs.shown_commands import ShownCommand
from support.terminal import Terminal

_PREPARED = "needs a situation that its own tests prepare, in tests/cli, tests/core or tests/endpoint"
_SYSTEM = "needs a program or service that this machine may lack"
_SHARED = "needs PostgreSQL and an object store; tests/scale runs such an endpoint"
_REPLACES = "replaces the key; tests/cli/test_cli_key_rotation.py runs each form"
NOT_RUN = {
    _PREPARED: (
        *("lifeboat agents adopt", "lifeboat agents cut", "lifeboat agents uncut", "lifeboat agents hook"),
        *("lifeboat agents add ~/.openclaw/workspace", "mv ~/boats", "lifeboat agents move-project"),
        *("lifeboat diff Juniper 2026", "lifeboat restore Juniper --at 2026", "lifeboat restore Juniper --from"),
        *("lifeboat restore Claude", "lifeboat restore Juniper --to ~/.openclaw", "lifeboat receipts confirm"),
        *("lifeboat keys rename-machine", "lifeboat profiles test", "lifeboat config check ping"),
        *("lifeboat alf import juniper.alf --to ~/.openclaw", "lifeboat alf import juniper.alf --delta"),
        *("lifeboat keys unlock", "lifeboat keys lock", "lifeboat keys init --store passphrase"),
        *("lifeboat endpoint accept", "lifeboat endpoint purges confirm", "lifeboat endpoint purges refuse"),
        *("lifeboat setup --from-alf", "lifeboat alf validate memory.aicf --strict"),
        "lifeboat keys export-kit --encrypt",
    ),
    _REPLACES: ("lifeboat keys rotate",),
    _SHARED: (
        *("lifeboat endpoint prepare", "lifeboat endpoint migrate", "lifeboat endpoint work"),
        "lifeboat endpoint jobs",
    ),
    _SYSTEM: (
        *("lifeboat keys export-kit -o - | lp", "lifeboat alf convert http"),
        *("lifeboat remote add home https", "lifeboat remote add bucket s3", "lifeboat remote add cloud webdav"),
        "lifeboat remote add nas sftp",
    ),
}
"""Beginnings of examples, by the reason why they do not run. A line end stands for the end of the command."""


def _begin_elsewhere(machine: PageMachine) -> None:
    """Go on at a machine with a workspace and nothing else."""
    machine.move_to_new_machine()
    machine.make_small_workspace()


def _bring_kit(machine: PageMachine) -> None:
    """Protect an agent, export a kit, and go on at a new machine that has it."""
    machine.move_to_new_machine()
    machine.protect_juniper()
    run("remote", "add", "stick", (machine.home / "stick").as_uri())
    run("sync")
    _bring_key_files(machine)


def _protect_elsewhere(machine: PageMachine) -> None:
    machine.move_to_new_machine()
    machine.protect_juniper()


def _add_office(machine: PageMachine) -> None:
    run("endpoint", "tenant", "add", "office", "--data", machine.relocate("/srv/lifeboat"))


def _bring_key_files(machine: PageMachine) -> None:
    """Go on at a machine without a key that has the words and the kit of the former one."""
    machine.learn_words()
    machine.write_words()
    run("keys", "export-kit", "-o", machine.home / "kit.txt", "--with-access", "--force")
    machine.move_to_new_machine()
    machine.bring_files()


def _start_daemon(machine: PageMachine) -> None:
    run("daemon", "start")


def _stop_daemon(machine: PageMachine) -> None:
    run("daemon", "stop")


def _write_token_and_join_line(machine: PageMachine) -> None:
    (machine.home / "join.txt").write_text(f"{machine.join}\n")
    (machine.home / "token.txt").write_text(machine.join.partition("https://")[2].partition("@")[0])


def _add_stick(machine: PageMachine) -> None:
    run("remote", "add", "stick", (machine.home / "usb").as_uri())


def _confirm_purge(terminal: Terminal, machine: PageMachine) -> None:
    terminal.type(terminal.wait_for(r"Type '([^']+)'")[1])
    terminal.wait_for(r"(?i)token[^\n]*: ")
    terminal.type("")


def _paste_token(terminal: Terminal, machine: PageMachine) -> None:
    terminal.wait_for(r"(?i)token[^\n]*: ")
    terminal.type(machine.join.partition("https://")[2].partition("@")[0])


_RENEWED = ("lifeboat alf export", "lifeboat alf convert", "lifeboat alf purge", "lifeboat keys export-kit")
"""Commands that write a file which an earlier example has written already."""


def find_example_reason(command: ShownCommand) -> str | None:
    """Return why an example is not run, or None."""
    return next((reason for reason, starts in NOT_RUN.items() if f"{command.text}\n".startswith(starts)), None)


def name_group(command: ShownCommand) -> str:
    """Return the group whose examples run on one machine: the first word after `lifeboat`, or the first program. A
    server makes its own data, so its examples are a group of their own."""
    words = command.text.split()
    if words[1:3] == ["endpoint", "serve"]:
        return "endpoint serve"
    if words[0] in ("mv", "cp"):
        return "agents"
    return words[1] if words[0] == "lifeboat" and len(words) > 1 else words[0]


def prepare_examples(machine: PageMachine) -> None:
    """Juniper with 13 sequences, pushed to an endpoint, and the files that examples name."""
    machine.use_service_manager()
    machine.protect_juniper(sequences=13)
    add_home_server(machine)
    machine.learn_words()
    machine.write_words()
    receive_memory_files(machine)
    home = machine.home
    for name, since in (("juniper.alf", ()), ("monday.alf", ()), ("changes.alf-delta", ("--since", "3"))):
        run("alf", "export", "openclaw", machine.workspace, "-o", home / name, *since)
    (machine.workspace / "SOUL.md").write_text("# Soul\n\nBe kind and brief.\n")
    run("sync")
    run("alf", "export", "openclaw", machine.workspace, "-o", home / "tuesday.alf-delta", "--since", "12")
    run("alf", "export", "openclaw", machine.workspace, "-o", home / "tuesday.alf")
    run("purge", "Juniper", "--text", "We planted", "--yes")
    (home / "text").write_text("Ben likes tulips")
    (home / "address.txt").write_text("https://ping.example.com/abc\n")
    openclaw_workspaces.make_workspace(home / "agents" / "ada", large=False)
    (home / ".config" / "fish" / "completions").mkdir(parents=True)


_LISTS_OF_IDS = {
    "receipts": ("receipts", "list", "receipts"),
    "review": ("review", "Juniper", "changes"),
    "": ("records", "list", "Juniper", "records"),
}
"""Part of a command -> the command that lists its ids, and the field of the list."""


def complete_example(text: str, machine: PageMachine) -> str:
    """Return the command with real names in place of ID and NAME, and free to replace the files of other examples."""
    text = re.sub(r"--remote (?:home|NAME)$", "--remote home-server", text)
    text = re.sub(r"(lifeboat remote (?:show|test|token)) home\b", r"\1 home-server", text)
    text = text.replace("keyring:office", f"file:{machine.home}/office.key")
    text = re.sub(r"(endpoint serve)(?!.*--listen)", r"\1 --listen 127.0.0.1:0", text)
    text = text.replace("127.0.0.1:8080", "127.0.0.1:0")
    if " k7m2p9qa" in text:
        data = ("--data", machine.relocate("/srv/lifeboat"))
        text = text.replace(" k7m2p9qa", f" {run('endpoint', 'token', 'list', 'home', *data)['tokens'][-1]['id']}")
    if " ID" in text:
        (*words, listed) = next(words for part, words in _LISTS_OF_IDS.items() if part in text)
        text = text.replace(" ID", f" {run(*words)[listed][0]['id']}")
    if text.startswith("cp -a ") and not machine.workspace.exists():  # an earlier example moved it
        (machine.home / "juniper").rename(machine.workspace)
        run("agents", "move", "Juniper", machine.workspace)
    if text.startswith("lifeboat alf apply"):
        (machine.home / "tuesday.alf").unlink(missing_ok=True)
    if text.startswith(_RENEWED) and " -o " in text:
        text = text.replace(" -o ", " --force -o ")
    return f"{text} --yes" if text.startswith("lifeboat alf convert") and "--dry-run" not in text else text


_skip_steps = type_answers(
    (r"Your choice", ""),
    (r"Protect Juniper", "n"),
    (r"Show the recovery words now", "n"),
    (r"Enter skips", ""),
    (r"Install the", "n"),
)
EXAMPLE_STORY = PageStory(
    before={
        "lifeboat setup": _begin_elsewhere,
        "lifeboat setup --kit kit.txt": _bring_kit,
        "lifeboat setup --yes": _begin_elsewhere,
        "lifeboat keys init --words-to /media/stick/words --no-prove": _protect_elsewhere,
        "lifeboat undo Juniper": lambda machine: (
            run("restore", "Juniper", "--at", "3", "--path", "MEMORY.md", "--yes") and None
        ),
        "lifeboat endpoint rotate-key office --key-source keyring:office --data /srv/lifeboat": _add_office,
        "lifeboat remote add home": lambda machine: (
            run("remote", "remove", "home-server", "--yes", "--keep-token") and None
        ),
        "lifeboat remote token home": lambda machine: run("remote", "add", "home-server", machine.join) and None,
        "lifeboat keys prove": in_order(PageMachine.learn_words, PageMachine.write_words),
        "lifeboat keys recover": _bring_key_files,
        "lifeboat keys recover --kit kit.txt": _bring_key_files,
        "lifeboat keys recover --words-from words.txt": _bring_key_files,
        "lifeboat daemon run": _stop_daemon,
        "lifeboat mcp --agent Juniper": lambda machine: run("agents", "grant", "Juniper") and None,
        "lifeboat proposals list": make_proposals,
        "lifeboat daemon restart": _start_daemon,
        "lifeboat remote test stick --quick": _add_stick,
        "lifeboat remote add home - < join.txt": _write_token_and_join_line,
        "lifeboat remote add stick file:///media/ada/stick/lifeboat --optional": lambda machine: (
            run("remote", "remove", "stick", "--yes") and None
        ),
        "lifeboat remote token home --token-stdin < token.txt": _write_token_and_join_line,
    },
    dialogs={
        "lifeboat setup": _skip_steps,
        "lifeboat setup --kit kit.txt": confirm_kit,
        **dict.fromkeys(("lifeboat tui --readonly", "lifeboat tui timeline Juniper"), QUIT),
        "lifeboat tui --demo": press_keys((r"ada", "q")),
        "lifeboat tui keys": press_keys((r"Keys", "q")),
        "lifeboat purge Juniper": purge_text("tulips", endpoints=1),
        "lifeboat purge Juniper --all --reason gdpr_article_17": _confirm_purge,
        "lifeboat keys init": write_down_words,
        "lifeboat keys prove": prove_words,
        "lifeboat keys recover": type_all_words,
        "lifeboat remote add home": type_join_line,
        "lifeboat proposals accept Juniper 1": type_answers((r"Do this\?", "y")),
        "lifeboat remote remove stick": type_answers((r"\[y/N\]", "y")),
        "lifeboat remote token home": _paste_token,
        "lifeboat restore Juniper --at 3 --path MEMORY.md": type_answers((r"Write this\?", "y")),
        "lifeboat restore Juniper --without-credentials": type_answers((r"Write this\?", "y")),
        "lifeboat endpoint tenant remove office --data /srv/lifeboat": type_answers((r"Type 'office'", "office")),
        **{
            f"lifeboat endpoint serve {options}--data /srv/lifeboat": interrupt_after(started)
            for options, started in (
                ("", SERVE),
                ("--join home ", SERVE),
                ("--public-url https://lifeboat.example.com ", "is reachable at"),
                ("--plain-http --listen 127.0.0.1:8080 ", "is reachable at"),
            )
        },
        **{
            f"lifeboat {words}": interrupt_after(r"\n")
            for words in ("daemon run", "daemon log --follow", "log --follow", "status --watch")
        },
    },
    complete=complete_example,
    statuses={
        **dict.fromkeys(("lifeboat daemon log --follow", "lifeboat log --follow"), 130),
        "lifeboat service status": 1,
    },
)
