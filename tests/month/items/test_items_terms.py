"""Terms of the policy that wait for a second person are open items."""

from __future__ import annotations

from pathlib import Path

import pytest
from items_october import items_of

from treasury.actions.policies.policy import load_policy
from treasury.close.closing import Closing
from treasury.close.ledger.ledger_scope import LedgerScope
from treasury.close.valuation.coins.agreed_measurement import Measurement
from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
from treasury.journal import Actor, Journal
from treasury.month.decisions.agreed_terms import TermsVerbs, waiting_terms
from treasury.month.items.decision_items import open_actions
from treasury.month.items.materiality import Limits
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
TERMS: dict[type[TermsVerbs], tuple[str, str]] = {
    Limits: ('[materiality]\nEUR = { item = "50.00", total = "500.00" }', "treasury items limits"),
    ExposureLimits: ("[exposure.currencies]\nEUR = 250000", "treasury exposure-limits"),
    LedgerScope: ('[out_of_scope]\nBE45539951876689 = "our parent"', "treasury items scope"),
}


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


@pytest.mark.parametrize("verbs", TERMS)
def test_terms_wait_as_an_item_until_a_second_person_accepts_them(
    october: Closing, tmp_path: Path, verbs: type[TermsVerbs]
) -> None:
    text, command = TERMS[verbs]
    (tmp_path / "policy.toml").write_text(text, "utf-8")
    journal = Journal(tmp_path)
    terms = verbs(journal, lambda: load_policy(tmp_path))
    kinds = (Limits.kind, Measurement.kind, ExposureLimits.kind, LedgerScope.kind)

    def waiting() -> list[dict[str, object]]:
        return waiting_terms(journal.entries(), kinds)

    assert waiting() == []
    terms.propose("as the board decided", actor=ANNA)
    (row,) = waiting()
    items = items_of(october, actions=open_actions((), terms=[row]).to_pylist())
    (item,) = items.select(kind="decision_waits")
    assert (item.item_id, item.state, item.turn) == ("terms:1", "TERMS PROPOSED", "colleague")
    assert item.command == f"{command} --accept"
    assert item.next_step == f"Have a second person accept it: {command} --accept"
    assert f"{verbs.kind.table}: as the board decided, by anna" in item.name
    terms.accept(actor=BERT)
    assert waiting() == []
