"""The manual page lifeboat(1), from the commands themselves. Run by the Python that has Lifeboat installed.

python manual.py DAY VERSION > lifeboat.1
"""

from __future__ import annotations

import re
import sys

import click

from lifeboat_cli.program import program
from lifeboat_cli.terminal.help_examples import parse_examples, walk_commands

_ENDING = r"""
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
Failed, or a check found a problem.
.TP
.B 2
Invalid command line.
.TP
.B 3
Refused by a guard: nothing was done.
.TP
.B 130
Stopped by Ctrl-C, or a question was answered with no.
.SH ENVIRONMENT
.TP
.B LIFEBOAT_HOME
The folder with all data of Lifeboat: settings, vaults, keys, logs.
.TP
.B LIFEBOAT_PASSPHRASE_FILE
A file whose first line opens a wrapped key, for machines without a keyring.
.SH FILES
.TP
.I ~/.local/share/lifeboat
The home, unless LIFEBOAT_HOME names another folder.
.I config.toml
and
.I agents/
in it are settings,
.I vault/
has the captured data.
.TP
.I /usr/lib/systemd/user/lifeboat.service
The service of a user, if installed by a package.
.SH SEE ALSO
.BR systemctl (1),
.BR loginctl (1)
"""


def page(day: str, version: str) -> str:
    """The whole page in man(7). `day` is YYYY-MM-DD."""
    lines = [f'.TH LIFEBOAT 1 "{day}" "Agent Lifeboat {version}" "User Commands"']
    lines += [".SH NAME", r"lifeboat \- keeps AI agents alive: every change captured, every captured state restorable"]
    lines += [".SH SYNOPSIS", ".B lifeboat", r"[\fB\-\-json\fR]", r"\fICOMMAND\fR [\fIARGUMENTS\fR]"]
    lines += [".SH DESCRIPTION", *_prose(program.help or "")]
    lines += _options(program, "lifeboat")
    lines.append(".SH COMMANDS")
    for words, command in walk_commands("lifeboat", program):
        lines += _command(words, command)
    return "\n".join(lines) + _ENDING


def _command(words: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=words)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f".SS {_text(words)} {_text(usage)}", *_prose(command.help or ""), *_options(command, words)]
    shown = parse_examples(command.epilog)
    if shown:
        lines += [".PP", "Examples:", ".PP", ".RS 4", ".nf", *(_text(example) for example in shown), ".fi", ".RE"]
    return lines


def _options(command: click.Command, words: str) -> list[str]:
    context = click.Context(command, info_name=words)
    lines = []
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) and not option.hidden else None
        if record is not None:
            lines += [".TP", rf"\fB{_text(record[0])}\fR", _text(" ".join(record[1].split()))]
    return lines


def _prose(help_text: str) -> list[str]:
    lines: list[str] = []
    for number, paragraph in enumerate(re.split(r"\n\s*\n", help_text.strip())):
        as_it_is = "\b" in paragraph
        rows = [row.strip() for row in paragraph.replace("\b", "").strip().splitlines()]
        if number:
            lines.append(".PP")
        lines += [".nf", *map(_text, rows), ".fi"] if as_it_is else [_text(" ".join(rows))]
    return lines


def _text(text: str) -> str:
    """Text that means nothing to roff: no escape, no request, no hyphen that cannot be copied."""
    safe = (
        text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha").replace("`", r"\(ga")
    )
    safe = safe.replace("'", r"\(aq")
    return rf"\&{safe}" if safe.startswith(".") else safe


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page(*sys.argv[1:]))
