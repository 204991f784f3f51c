"""Work until a file appears: `began` is written at the beginning, `until` is waited for; `stubborn` ignores
cancellation."""

import time
from pathlib import Path


def run(work):
    began, until = Path(work.parameters["began"]), Path(work.parameters["until"])
    with began.open("a") as file:
        file.write(f"{work.parameters.get('name', '')}\n")
    while not until.exists():
        if not work.parameters.get("stubborn"):
            work.check()
        time.sleep(0.002)
    return {"full": work.parameters.get("full", False)}
