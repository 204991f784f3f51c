"""The packages of the product, as named in the wheel."""

from __future__ import annotations

import tomllib

from support.paths import ROOT

_WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
PACKAGES: dict[str, str] = dict(place.split("/") for place in _WHEEL["packages"])
"""{folder of the checkout: its package}."""
HEADLESS = tuple(package for package in PACKAGES.values() if package != "lifeboat_tui")
"""All packages except the dashboard."""
