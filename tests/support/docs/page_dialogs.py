"""Answers to the questions that commands of the documentation ask on a terminal."""

from __future__ import annotations

import re

from support.docs.page_machine import Dialog, PageMachine
from support.terminal import Terminal


def type_answers(*steps: tuple[str, str]) -> Dialog:
    """Wait for each pattern and type its answer."""

    def dialog(terminal: Terminal, machine: PageMachine) -> None:
        for pattern, answer in steps:
            terminal.wait_for(pattern)
            terminal.type(answer)

    return dialog


def press_keys(*steps: tuple[str, str]) -> Dialog:
    """Wait for each pattern and press keys without Enter."""

    def dialog(terminal: Terminal, machine: PageMachine) -> None:
        for pattern, keys in steps:
            terminal.wait_for(pattern)
            terminal.press(keys)

    return dialog


def interrupt_after(pattern: str) -> Dialog:
    """Press Ctrl-C once a command that has no end has printed a pattern."""

    def dialog(terminal: Terminal, machine: PageMachine) -> None:
        terminal.wait_for(pattern)
        terminal.interrupted()

    return dialog


def purge_text(text: str, *, endpoints: int = 0) -> Dialog:
    """Type a text to destroy, the word that the command wants as confirmation, and no token for any endpoint."""

    def dialog(terminal: Terminal, machine: PageMachine) -> None:
        terminal.wait_for(r"Text to[^\n]*: ")
        terminal.type(text)
        terminal.type(terminal.wait_for(r"Type '([^']+)'")[1])
        for _ in range(endpoints):
            terminal.wait_for(r"(?i)token[^\n]*: ")
            terminal.type("")

    return dialog


def write_down_words(terminal: Terminal, machine: PageMachine) -> None:
    """Copy the 24 words that are shown, and prove three of them."""
    numbered = re.findall(r"(\d+)\. ([a-z]+)", terminal.until("Press Enter"))
    terminal.type("")
    machine.words = [word for _, word in numbered]
    prove_words(terminal, machine)


def prove_words(terminal: Terminal, machine: PageMachine) -> None:
    """Type the three words that are asked for."""
    for _ in range(3):
        place = int(terminal.wait_for(r"Word (\d+): ")[1])
        terminal.type(machine.words[place - 1])


def type_all_words(terminal: Terminal, machine: PageMachine) -> None:
    """Type the 24 words, all in one line."""
    terminal.wait_for(r"Word 1: ")
    terminal.type(" ".join(machine.words))
