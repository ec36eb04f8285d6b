"""A finding of the doctor: a fact about the workspace, and the next step where there is one."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["ok", "missing", "optional", "damaged", "repaired"]
"""What is `optional` the desk works without, so that its step comes after all others."""


class HealthFinding(msgspec.Struct, frozen=True):
    """A fact: what it is about, how it stands, what was found and the next step."""

    topic: str
    state: State
    what: str
    do: str = ""
