"""A simulated other version of the models, in which accepted matches have no effect."""

from __future__ import annotations

import msgspec
import pytest

from treasury.close import closing, roll_forward
from treasury.matching import reference_matching as matching
from treasury.matching.engine.memo import Memo
from treasury.matching.engine.pipeline import Step
from treasury.month import reconciliation as monthly


def work_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty this process's caches of reconciliations and roll-forwards."""
    for room, name in (
        (monthly, "_ANSWERS"), (monthly, "_MATCHED"), (monthly, "_FUNDS"), (roll_forward, "_ENDS"),
    ):  # fmt: skip
        monkeypatch.setattr(room, name, Memo())


def other_models(monkeypatch: pytest.MonkeyPatch, *, version: str = "another") -> None:
    """Replace the models until the test ends; an empty `version` keeps their version's name."""

    def changed(step: Step) -> Step:
        if step.name != "accepted_pairs":
            return step
        sql = f"SELECT * FROM (\n{step.sql}\n) AS whole WHERE false"
        return msgspec.structs.replace(step, sql=sql)

    monkeypatch.setattr(monthly, "STEPS", tuple(map(changed, monthly.STEPS)))
    monkeypatch.setattr(matching, "STEPS", tuple(map(changed, matching.STEPS)))
    monkeypatch.setattr(monthly, "MATCHING", tuple(map(changed, monthly.MATCHING)))
    work_out_again(monkeypatch)
    if version:
        monkeypatch.setattr(closing, "_models", lambda: version)
