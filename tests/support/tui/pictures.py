"""PNG versions of the pictures that the tests compare, for docs/screenshots: `make pictures` (needs chromium; uses
pngquant if installed)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support.paths import ROOT
from support.patience import patience

TAKEN = ROOT / "tests/tui/__snapshots__/test_pictures"
TARGET = ROOT / "docs/screenshots"
_NAME = re.compile(r"test_a_screen_looks_as_it_did\[(?P<scene>.+)-(?P<size>\d+x\d+|no-color)\]")


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("chromium is needed to draw pictures")
    for old in TARGET.glob("*.png"):
        old.unlink()
    for picture in sorted(TAKEN.glob("*.svg")):
        found = _NAME.match(picture.stem)
        if found is not None:
            _draw(browser, picture, TARGET / f"{found['scene']}-{found['size']}.png")


def _draw(browser: str, picture: Path, target: Path) -> None:
    text = picture.read_text()
    width, height = (round(float(number)) for number in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)[0])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(f"<meta charset='utf-8'><body style='margin:0;background:#0000'>{text}</body>")
        options = [f"--user-data-dir={folder}/profile", f"--window-size={width},{height}", f"--screenshot={target}"]
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *options, str(page)]
        subprocess.run(command, check=True, capture_output=True, timeout=patience(120))
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--ext", ".png", "32", str(target)], check=True)


if __name__ == "__main__":
    main()
