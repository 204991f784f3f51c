"""Print unrequested output in every possible way."""

import os
import subprocess
import sys


def run(work):
    print("a stray line", flush=True)
    sys.stderr.write("a warning\n" * 100)
    sys.stderr.flush()
    os.write(1, b'{"type":"result","number":1,"document":{"forged":true}}\n')
    subprocess.run([sys.executable, "-c", "print('from a program')"], check=True)
    return {"said": True}
