"""Two real machines and a folder remote, as the model's world in which the second machine took the agent over."""

from __future__ import annotations

from pathlib import Path

from support.core.machines import Machine
from support.model.exploration import cover_transitions
from support.model.sealed_protocol import Limits, SealedProtocol, Store
from support.model.sealed_replay import Replay, seen_in_model


def begin(folder: Path) -> list[Machine]:
    laptop, desktop = Machine(folder / "laptop"), Machine(folder / "desktop")
    (folder / "stick").mkdir()
    laptop.context.keys().ensure()
    desktop.learn_words_of(laptop)
    for machine in (laptop, desktop):
        machine.add_remote("home", (folder / "stick").as_uri(), sealed=True)
    laptop.add(name="ada")
    assert laptop.push().state == "ok"
    target = folder / "desktop" / "returned" / "workspace"
    desktop.bring_back(laptop.agent.id, target, take_over=laptop.context.keys().own_name)
    desktop.write("MEMORY.md", "# Memory\n\nTaken over by the desktop.\n")
    assert desktop.capture_and_push().sequence == 1
    return [laptop, desktop]


def replay_traces(folder: Path, limits: Limits, most_steps: int) -> tuple[int, str]:
    """Replay the traces that cover each transition of the model within `most_steps`; return how many traces were
    replayed, and the first difference between the model and the real code or broken invariant, "" for none."""
    protocol = SealedProtocol(Store.COMPARE_AND_SET)
    start = protocol.taken_over(limits)
    replay = Replay(folder, begin)
    assert replay.seen() == seen_in_model(start)
    count = 0
    for count, trace in enumerate(cover_transitions(start, protocol.successors, most_steps), 1):
        replay.begin_again()
        world = start
        for steps, action in enumerate(trace, 1):
            world = dict(protocol.successors(world))[action]
            wrong = replay.do(action, world) or replay.find_fault()
            if not wrong and replay.seen() != seen_in_model(world):
                wrong = f"the model expects {seen_in_model(world)}, the machines have {replay.seen()}"
            if wrong:
                replay.begin_again()
                return count, "\n".join([wrong, *trace[:steps]])
    replay.begin_again()
    return count, ""
