"""A missing record proves that nothing happened only if the list shows keys or our references."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from action_practice import OPERATIONS, TREASURY, Practice, refused

from treasury.actions import Action
from treasury.core.errors import OutcomeUnknown

FINANCE = "/finance/v1"
BETWEEN = {
    "source_account_id": TREASURY, "destination_account_id": OPERATIONS, "amount": "3.00",
    "cryptocurrency": "USDC",
}  # fmt: skip
VIRTUAL = {
    "account_id": TREASURY, "name": "Pay-in", "in_currency": "EUR", "target_cryptocurrency": "USDC",
}  # fmt: skip
LISTS = {
    "crypto_transfer.create": "transfers",
    "account_transfer.create": "account_to_account_transfers",
    "virtual_account.create": "virtual_bank_accounts",
}


def ready(practice: Practice, kind: str) -> Action:
    if kind == "crypto_transfer.create":
        return practice.transfer()
    fields = BETWEEN if kind == "account_transfer.create" else VIRTUAL
    return practice.approved(kind, **fields)


def lost(practice: Practice, action: Action) -> None:
    """Execute an action, lose its request, and wait until lists are certainly up to date."""
    practice.sandbox.faults.add(FINANCE, method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.wait()


def listing(
    practice: Practice,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    records: Callable[[list[Any]], list[Any]],
) -> None:
    """Pass the records of the list that recovery searches for a kind through `records`."""
    resource = type(getattr(practice.client("maker").finance, LISTS[kind]))
    iterate = resource.iterate

    def changed(self: Any, *ids: str, **how: Any) -> Iterator[Any]:
        yield from records(list(iterate(self, *ids, **how)))

    monkeypatch.setattr(resource, "iterate", changed)


def another(practice: Practice, record: Any, **fields: Any) -> Any:
    """Return a copy of a record as if someone else had just created it."""
    fields = {"id": "another", "created_at": practice.wall()} | fields
    return msgspec.structs.replace(record, value=msgspec.structs.replace(record.value, **fields))


def test_a_new_transfer_without_a_key_among_keyed_ones_does_not_settle_an_outcome(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    lost(practice, action)
    sparse = {"idempotency_key": None, "amount": None, "asset": None}
    listing(
        practice,
        monkeypatch,
        action.kind,
        lambda records: [another(practice, records[0], **sparse), *records],
    )
    [left] = practice.jonas.recover()
    assert (left.state, practice.effects()) == ("unknown", [])
    assert "record another does not show idempotency_key" in left.why


def test_an_internal_transfer_list_does_not_prove_the_absence_of_an_effect(
    practice: Practice,
) -> None:
    """The records have neither key nor reference, and may show an amount net of fees."""
    action = practice.approved("account_transfer.create", **BETWEEN)
    practice.sandbox.faults.add(FINANCE, method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    assert "without being listed yet" in refused(lambda: practice.jonas.recover(action.id))
    practice.wait()
    [left] = practice.jonas.recover()
    assert (left.state, practice.effects()) == ("unknown", [])
    assert "no listed record shows idempotency_key" in left.why


@pytest.mark.parametrize("kind", LISTS)
def test_an_empty_list_does_not_settle_an_outcome(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    action = ready(practice, kind)
    lost(practice, action)
    listing(practice, monkeypatch, kind, lambda _: [])
    [left] = practice.jonas.recover()
    assert (left.state, practice.effects()) == ("unknown", [])


def test_older_transfers_without_a_key_are_not_the_sent_one(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice.ines.execute(practice.transfer().id)
    practice.pass_(days=4)
    action = practice.transfer()
    lost(practice, action)
    old = {"idempotency_key": None, "created_at": practice.now - timedelta(days=1)}
    listing(
        practice,
        monkeypatch,
        action.kind,
        lambda records: [another(practice, records[0], **old), *records],
    )
    [done] = practice.jonas.recover()
    assert (done.state, done.outcome and done.outcome.how) == ("done", "sent again"), done.why


@pytest.mark.parametrize(("name", "state"), [("Another", "done"), (None, "unknown")])
def test_a_virtual_account_is_recognised_by_its_name(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, name: str | None, state: str
) -> None:
    action = ready(practice, "virtual_account.create")
    lost(practice, action)
    made = {"name": name, "target_cryptocurrency": "USDC"}
    [model] = practice.client("maker").finance.virtual_bank_accounts.iterate(TREASURY)
    listing(
        practice,
        monkeypatch,
        action.kind,
        lambda records: [*records, another(practice, model, **made)],
    )
    left = practice.jonas.recover()[0]
    assert left.state == state, left.why


def test_the_record_with_our_key_wins_over_similar_records(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.unknown_transfer(drop="after")
    listing(
        practice,
        monkeypatch,
        action.kind,
        lambda records: [another(practice, records[0], idempotency_key=None), *records],
    )
    [done] = practice.jonas.recover()
    assert (done.state, done.outcome and done.outcome.how) == ("done", "adopted")
