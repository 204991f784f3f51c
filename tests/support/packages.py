"""The packages of the product, as the wheel names them."""

from __future__ import annotations

import tomllib

from support.paths import ROOT

_WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
PACKAGES: dict[str, str] = dict(place.split("/") for place in _WHEEL["packages"])
"""{folder of the checkout: the package in it}."""
HEADLESS = tuple(package for package in PACKAGES.values() if package != "lifeboat_tui")
"""Every package but the dashboard."""
