"""The fuzzing targets take their seeds, and mutations of them, without anything but the errors they promise."""

from __future__ import annotations

from random import Random

import pytest

from support.fuzz import fuzz_readers

MUTATIONS = 60


def _mutated(seed: bytes, random: Random) -> bytes:
    """A few bytes flipped, cut out, doubled or inserted."""
    data = bytearray(seed)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) + 1)
        choice = random.randrange(4)
        if choice == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif choice == 1:
            del data[at : at + random.randint(1, 40)]
        elif choice == 2:
            data[at:at] = data[at : at + random.randint(1, 40)]
        else:
            data[at:at] = random.choice([b"\x00", b'"', b"{", b"\\", b"\xff", b"NaN", b"\n", b"../"])
    return bytes(data)


@pytest.mark.parametrize("name", fuzz_readers.TARGETS)
def test_the_seeds_of_a_target_are_good_input(name: str) -> None:
    seeds = fuzz_readers.seeds(name)
    assert seeds
    assert [seed for seed in seeds if not fuzz_readers.TARGETS[name](seed)] == []


@pytest.mark.parametrize("name", fuzz_readers.TARGETS)
def test_a_target_takes_mutations_of_its_seeds(name: str) -> None:
    random, seeds = Random(7), fuzz_readers.seeds(name)
    for _ in range(MUTATIONS):
        fuzz_readers.TARGETS[name](_mutated(random.choice(seeds), random))
