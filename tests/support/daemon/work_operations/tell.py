"""Report progress far too often."""


def run(work):
    for number in range(10_000):
        work.tell("counting", number, 10_000)
    return {"name": "caf\udce9"}
