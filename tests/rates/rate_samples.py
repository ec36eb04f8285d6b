"""Sample files of reference rates, and a desk whose clock shows 2 November 2026."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from treasury.workspace import Workspace

__all__ = ["BANKS_FILE", "desk", "own_file", "packed", "written"]

BANKS_FILE = """\
Date,USD,JPY,SEK,
2026-10-30,1.1172,175.68,10.978,
2026-10-29,1.113,175.92,N/A,
2026-10-28,1.1150,175.40,10.95,
"""
"""A file as the ECB publishes it: latest day first, N/A for no rate, each line ends in a comma."""

_DESK = """\
[workspace]
company = "Rate tests"
environment = "sandbox"
time_zone = "Europe/Brussels"
now = 2026-11-02T08:00:00Z
"""


def desk(folder: Path, now: str = "2026-11-02T08:00:00Z") -> Workspace:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "treasury.toml").write_text(_DESK.replace("2026-11-02T08:00:00Z", now), "utf-8")
    return Workspace(folder)


def written(folder: Path, text: str | bytes, name: str = "rates.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def own_file(folder: Path, *lines: str, name: str = "rates.csv") -> Path:
    """Write a company's own file of rates, with lines such as `2026-10-30,USDC,EUR,0.9`."""
    return written(folder, "\n".join(("day,base,quote,rate", *lines, "")), name)


def packed(folder: Path, members: Mapping[str, str | bytes], name: str = "rates.zip") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path
