"""`lifeboat demo`: a demonstration with an invented agent in a temporary folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from lifeboat_cli.terminal.command_session import is_json_wanted
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.texts.human_text import count_text


@click.command(
    short_help="Try Lifeboat with an invented agent.",
    epilog=format_examples("lifeboat demo", "lifeboat demo --keep /tmp/look"),
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Create this new folder for the demo, and do not delete it afterwards.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def demo(keep: Path | None, as_json: bool) -> int:
    """Protect an invented agent, change it, delete it, restore it, and compare every byte. Exits with 0 if every step
    succeeded.
    """
    output = CommandOutput(as_json=as_json or is_json_wanted())
    if keep is not None:
        if keep.exists():
            raise click.UsageError(
                f"{keep} exists already, but --keep needs the path of a folder that does not exist yet."
            )
        keep.mkdir(parents=True)
        return _tell(output, keep.resolve())
    with tempfile.TemporaryDirectory(prefix="lifeboat-demo-") as folder:
        return _tell(output, Path(folder).resolve())


def _tell(output: CommandOutput, folder: Path) -> int:
    from lifeboat_cli.demo.demo_story import DemoStory

    chapters = []
    for number, chapter in enumerate(DemoStory(folder).chapters(), start=1):
        chapters.append(chapter)
        if not output.as_json:
            output.line(f"{number}. {chapter.heading}", style="bold")
            for sentence in chapter.sentences:
                output.line(f"   {sentence}")
            for problem in chapter.problems:
                output.line(f"   FAILED: {problem}", style="bold red")
    problems = [problem for chapter in chapters for problem in chapter.problems]
    document = {
        "ok": not problems,
        "chapters": [
            {"heading": chapter.heading, "sentences": chapter.sentences, "problems": chapter.problems}
            for chapter in chapters
        ],
    }

    def text() -> None:
        output.line()
        output.line("Every step succeeded." if not problems else f"{count_text(len(problems), 'problem')} found.")
        if not problems:
            output.line(
                "The demo's key was deleted at the end of the demo. To create your own key and recovery words: "
                "lifeboat keys init"
            )
            output.line("To find your own agents: lifeboat agents discover")

    output.document(document, text)
    return 1 if problems else 0
