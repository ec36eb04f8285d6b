"""Other models in a process: no decision of a person counts in them, whatever the version says."""

from __future__ import annotations

import msgspec
import pytest

from treasury.reconcile import known, matching, monthly
from treasury.reconcile.pipeline import Step
from treasury.report import closing


def other_models(monkeypatch: pytest.MonkeyPatch, *, version: str = "another") -> None:
    """Answer from here on as another version of the models would."""

    def changed(step: Step) -> Step:
        if step.name != "accepted":
            return step
        sql = f"SELECT * FROM (\n{step.sql}\n) AS whole WHERE false"
        return msgspec.structs.replace(step, sql=sql)

    monkeypatch.setattr(monthly, "STEPS", tuple(map(changed, monthly.STEPS)))
    monkeypatch.setattr(matching, "_FACT_STEPS", tuple(map(changed, matching._FACT_STEPS)))
    monkeypatch.setattr(known, "_MATCHING", tuple(map(changed, known._MATCHING)))
    if version:
        monkeypatch.setattr(closing, "_models", lambda: version)
