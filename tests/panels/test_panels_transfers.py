"""The transfers panel without a browser: its lists, traces and proposals."""

from __future__ import annotations

import pytest
from panel_month import asks, confirms, rows_of, words
from panel_practice import Practice, said

from treasury.api.bodies import NewCryptoTransfer
from treasury.core.errors import ActionRefused
from treasury.panels.transfers_panel import TransfersPanel
from treasury.workspace import Workspace

SENDER = {"chain": "BASE", "asset": "USDC"}


@pytest.fixture
def panel(practice: Practice) -> TransfersPanel:
    return practice.workspace.panels.transfers()


@pytest.fixture
def accounts(practice: Practice) -> list[str]:
    """Return the ids of the two verified accounts on BASE that hold the most USDC."""
    found = practice.workspace.sql(
        "SELECT DISTINCT a.id, max(b.total) AS total FROM accounts AS a"
        " JOIN wallet_balances AS b ON b.account_id = a.id AND b.asset = 'USDC'"
        " WHERE a.chain = 'BASE' AND a.status = 'ACTIVE' AND a.kyc_status = 'VERIFIED'"
        " GROUP BY a.id ORDER BY total DESC, a.id"
    ).arrow
    return found["id"].to_pylist()[:2]


def typed(accounts: list[str], **more: str) -> dict[str, str]:
    sender, receiver = accounts
    given = {"sender_account_id": sender, "receiver_account_id": receiver, "amount": "12.50"}
    return given | SENDER | more


@pytest.mark.acceptance
def test_every_transfer_of_every_kind_is_listed_open_ones_first(
    panel: TransfersPanel, practice: Practice
) -> None:
    rows = panel.rows.arrow.to_pylist()
    count = practice.workspace.sql("SELECT count(*) AS n FROM transfers").arrow["n"][0].as_py()
    assert len(rows) == count
    assert {row["kind"] for row in rows} == {"crypto", "fiat", "account_to_account"}
    opened = [row["is_open"] for row in rows]
    assert opened == sorted(opened, reverse=True)


@pytest.mark.acceptance
def test_both_legs_between_our_accounts_are_listed(month_end: Workspace) -> None:
    panel = month_end.panels.transfers(size=50)
    assert "Between our accounts" in [view.label for view in panel.frame().views]
    panel.press("legs")
    assert panel.wait()
    told = month_end.reconcile("2026-10").internal_transfers.arrow.to_pylist()
    assert len(rows_of(panel)) == len(told)
    shown = "\n".join(words(row) for row in rows_of(panel))
    for leg in told:
        assert leg["evidence"] in shown


@pytest.mark.acceptance
def test_a_transfer_is_traced_and_a_failure_has_its_reason(month_end: Workspace) -> None:
    panel = month_end.panels.transfers(size=200)
    failed = next(r for r in panel.rows.arrow.to_pylist() if r["status"] == "FAILED")
    shown = next(row for row in rows_of(panel) if row.key == failed["id"])
    assert failed["failure_reason"] in words(shown)
    step = asks(panel, "trace", failed["id"])
    assert failed["id"] in step.title
    assert step.letter is not None
    assert panel.press("back").step is None


@pytest.mark.acceptance
def test_a_transfer_is_proposed_in_two_steps_and_nothing_is_sent(
    panel: TransfersPanel, practice: Practice, accounts: list[str]
) -> None:
    panel.press("crypto")
    step = asks(panel, "check", **typed(accounts, reason="float"))
    assert practice.journaled("action.") == []
    frame = confirms(panel, step)
    (entry,) = practice.journaled("action.proposed")
    assert entry.body["text"] == step.text
    assert entry.body["kind"] == "crypto_transfer.create"
    assert entry.nonce == step.key
    assert "USDC 12.50" in step.text
    assert "nothing is sent yet" in said(frame)
    assert not [path for method, path, _ in practice.served.requests
                if method == "POST" and "transfer" in path]  # fmt: skip
    assert "proposed and not sent" in "".join(line.text for line in frame.notes)


def test_confirming_again_proposes_once(
    panel: TransfersPanel, practice: Practice, accounts: list[str]
) -> None:
    panel.press("crypto")
    step = asks(panel, "check", **typed(accounts))
    for _ in range(5):
        panel.press("confirm", step=step.key)
    assert panel.wait()
    panel.press("confirm", step=step.key)
    assert panel.wait()
    assert len(practice.journaled("action.proposed")) == 1


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "wrong",
    [
        ("amount", "-1", "not positive"),
        ("amount", "1.1234567", "more decimals"),
        ("amount", "999999999999", "over the balance"),
        ("sender_account_id", "nobody", "no account"),
        ("description", "a\nb", "line break"),
        ("asset", "", "is missing"),
        ("chain", "ETHEREUM", "not on ETHEREUM"),
    ],
)
def test_an_error_is_shown_next_to_its_field_and_nothing_is_written(
    panel: TransfersPanel,
    practice: Practice,
    accounts: list[str],
    wrong: tuple[str, str, str],
) -> None:
    field, value, said_so = wrong
    panel.press("crypto")
    panel.press("check", **typed(accounts, **{field: value}))
    assert panel.wait()
    frame = panel.frame()
    errors = {one.name: one.error for one in frame.fields if one.error}
    assert list(errors) == [field], (errors, said(frame))
    assert said_so in errors[field]
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert frame.step is None
    assert practice.journaled("action.") == []


@pytest.mark.acceptance
def test_an_equal_transfer_sent_elsewhere_is_shown_before_the_proposal(
    practice: Practice, accounts: list[str]
) -> None:
    fields = typed(accounts)
    sender, receiver = accounts
    body = NewCryptoTransfer(amount="12.50", receiver_account_id=receiver, **SENDER)
    with practice.portal("maker") as portal:
        other = portal.finance.transfers.crypto(sender, body).value.id
    unseen = practice.workspace.actions.propose("crypto_transfer.create", **fields)
    # The other transfer is not synced yet.
    assert "LOOK" not in unseen.text
    practice.workspace.sync()
    panel = practice.workspace.panels.transfers()
    panel.press("crypto")
    step = asks(panel, "check", **fields)
    assert f"LOOK: just like it at the service there is {other}" in step.text
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", "jonas")
        [ready] = practice.workspace.actions.approve(unseen.id)
    with pytest.raises(ActionRefused, match=f"just like it at the service was none, is {other}"):
        practice.workspace.actions.execute(ready.id)


def test_a_fiat_and_an_account_transfer_have_their_own_fields(panel: TransfersPanel) -> None:
    names = {field.name for field in panel.press("fiat").fields}
    assert "currency" in names
    assert "chain" not in names
    names = {field.name for field in panel.press("internal").fields}
    assert {"source_account_id", "destination_account_id", "cryptocurrency"} <= names
    assert panel.press("leave").fields == ()
