"""A finding of the doctor: a fact about the workspace, and the next step, if any."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["ok", "missing", "optional", "damaged", "repaired"]
"""The states of a finding. A workspace works without `optional` parts, so their next steps come
last.
"""


class HealthFinding(msgspec.Struct, frozen=True):
    """A fact about the workspace: its topic, its state, the finding in words, and the next step."""

    topic: str
    state: State
    what: str
    do: str = ""
