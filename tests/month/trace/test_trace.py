"""One payment from end to end, found by any of its names."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from filled import fill
from hypothesis import given
from hypothesis import strategies as st
from view_desk import observe, pay_in, virtual

from treasury import Workspace
from treasury.core.errors import InputError, NothingStored
from treasury.month.trace.lookup import amounts_in
from treasury.month.trace.payment_trace import Hop, Trace
from treasury.month.trace.tracer import trace as traced
from treasury.sandbox import Sandbox


def places(trace: Trace) -> list[tuple[str, str]]:
    return [(hop.place, hop.state) for hop in trace.hops]


def request(workspace: Workspace, **wanted: Any) -> dict[str, Any]:
    requests = workspace.table("ramp_requests").arrow.to_pylist()
    return next(
        row for row in requests if all(row[name] == value for name, value in wanted.items())
    )


@pytest.mark.acceptance
def test_an_on_ramp_is_traced_from_the_request_to_the_wallet(month_end: Workspace) -> None:
    trace = month_end.trace("PAY-2026-004417")
    assert places(trace) == [
        ("Request", "seen"),
        ("Approval", "seen"),
        ("Bank line", "seen"),
        ("Reference", "seen"),
        ("Service", "seen"),
        ("Conversion", "as recorded"),
        ("Wallet", "seen"),
    ]
    _, _, bank, _, _, rate, wallet = trace.hops
    assert (bank.on, bank.amount) == (date(2026, 5, 5), 25000)
    assert bank.evidence.startswith("camt053_BE45539951876689_2026-05.xml, Ntry[")
    assert rate.says == "as recorded, (EUR 25,000.00 − EUR 200.00) / 0.9231 = USDC 26,865.995017"
    assert "service reports delivery (hash 0x" in wallet.says
    assert "the service shows no balances of company wallets" in wallet.evidence
    assert not trace.gaps
    assert trace.next_step == ""


@pytest.mark.acceptance
def test_an_off_ramp_that_never_paid_out_names_the_gap_and_since_when(
    month_end: Workspace,
) -> None:
    missing = next(
        row
        for row in month_end.reconcile("2026-10").differences.arrow.to_pylist()
        if (row["state"], row["direction"]) == ("NOT AT BANK", "off-ramp")
    )
    trace = month_end.trace(missing["request_id"])
    (gap,) = trace.gaps
    assert (gap.place, gap.state, gap.since) == ("Bank line", "missing", missing["since"])
    assert "the statements reach to 31 Oct 2026" in gap.says
    assert trace.next_step.startswith("NOT AT BANK: Ask the provider")
    assert "MISSING" in str(trace)


@pytest.mark.acceptance
def test_every_name_of_a_payment_leads_to_the_same_trace(month_end: Workspace) -> None:
    paid = request(month_end, payment_reference="PAY-2026-004417")
    given_names = [
        "pay 2026 004417",
        "Pay/2026/004417",
        paid["id"],
        paid["id"][:8],
        paid["blockchain_transaction_hash"],
        paid["blockchain_transaction_hash"].upper(),
        "USDC 26,865.995017",
    ]
    titles = {month_end.trace(name).title for name in given_names}
    assert titles == {"PAY-2026-004417, on-ramp of EUR 25,000.00, SUCCEEDED"}


@pytest.mark.acceptance
def test_an_amount_of_several_payments_lists_them_all_without_a_guess(month_end: Workspace) -> None:
    trace = month_end.trace("EUR 25,000.00")
    assert trace.hops == ()
    assert len(trace.choices) == 3
    assert trace.title == "3 payments, latest first: choose one"
    assert trace.provider_text() == ""
    assert set(trace.choices.arrow["kind"].to_pylist()) == {"request"}
    for row in trace.choices.arrow.to_pylist():
        assert row["amount"] == 25000
        assert month_end.trace(row["id"]).hops
    assert repr(trace) == "<Trace of EUR 25,000.00: 3 to choose from>"


@pytest.mark.acceptance
def test_an_amount_may_be_a_number_that_is_exact(month_end: Workspace) -> None:
    snapshot, question = month_end.snapshot(), month_end.question("2026-10")
    for amount in (25000, Decimal(25000), Decimal("2.5E+4"), "25000"):
        assert traced(snapshot, question, amount).choices.arrow.num_rows == 3
    others: list[Any] = [25000.0, True, None, b"PAY"]
    for spelling in others:
        with pytest.raises(InputError, match="cannot name a payment"):
            traced(snapshot, question, spelling)


@pytest.mark.acceptance
def test_an_iban_or_a_code_of_a_virtual_account_lists_its_last_lines(month_end: Workspace) -> None:
    account = virtual(month_end)
    of_it = [
        row
        for row in month_end.reconcile("2026-10").matches.lines.arrow.to_pylist()
        if row["expectation_id"] == account["id"]
    ]
    for name in (account["reference_code"], account["reference_code"].lower()):
        trace = month_end.trace(name)
        choices = trace.choices
        assert len(choices) == 50
        counted = re.fullmatch(r"the latest 50 of (\d+) payments: choose one", trace.title)
        assert counted is not None
        assert int(counted[1]) >= len(of_it)
        days = choices.arrow["happened_on"].to_pylist()
        assert days == sorted(days, reverse=True)
    by_iban = month_end.trace(account["iban"]).choices
    assert len(by_iban) == 50
    assert set(by_iban.arrow["kind"].to_pylist()) == {"line"}


@pytest.mark.acceptance
def test_a_credit_is_traced_to_the_virtual_account_and_its_wallet(tmp_path: Path) -> None:
    company = Sandbox(7)
    account = virtual(observe(tmp_path, company))
    company.clock.advance(days=1)
    observe(tmp_path, company)
    pay_in(company, account, "1234.56")
    company.clock.advance(days=1)
    workspace = observe(tmp_path, company, last=date(2026, 11, 3))
    trace = workspace.trace("1.234,56")
    assert places(trace) == [
        ("Bank line", "seen"),
        ("Reference", "seen"),
        ("Virtual account", "seen"),
        ("Conversion", "seen"),
        ("Wallet", "seen"),
    ]
    assert trace.hops[3].says.startswith("proved by the balance; EUR 0.92")
    assert "rate and fee together" in trace.hops[3].says


@pytest.mark.acceptance
def test_a_credit_without_its_reference_is_never_proved_by_a_group(month_end: Workspace) -> None:
    lost = next(
        line
        for line in month_end.reconcile("2026-10").lines.arrow.to_pylist()
        if line["outcome"] == "unreferenced" and line["amount"] == 2050
    )
    trace = month_end.trace(lost["entry_id"])
    states = dict(places(trace))
    assert states["Reference"] == "undecided"
    assert states["Conversion"] == "not provable"


@pytest.mark.acceptance
def test_without_a_provider_report_a_credit_cannot_be_traced(
    month_end_unreported: Workspace,
) -> None:
    with pytest.raises(NothingStored, match="no bank line has reached"):
        month_end_unreported.trace(virtual(month_end_unreported)["reference_code"])


@pytest.mark.acceptance
def test_a_transfer_is_traced_with_both_legs(month_end: Workspace) -> None:
    transfers = month_end.table("transfers").arrow.to_pylist()
    between = next(
        row
        for row in transfers
        if row["kind"] == "account_to_account" and row["status"] == "COMPLETED"
    )
    assert places(month_end.trace(between["id"])) == [
        ("Sender", "seen"), ("Service", "seen"), ("Receiver", "seen"),
    ]  # fmt: skip
    waiting = next(row for row in transfers if row["status"] == "PENDING")
    assert ("Service", "missing") in places(month_end.trace(waiting["id"]))
    failed = next(row for row in transfers if row["status"] == "FAILED")
    assert ("Service", "ended") in places(month_end.trace(failed["id"]))


@pytest.mark.acceptance
def test_every_request_and_a_line_of_every_outcome_can_be_traced(month_end: Workspace) -> None:
    places: set[str] = set()
    for line in month_end.reconcile("2026-10").lines.arrow.to_pylist():
        kind = f"{line['outcome']} {line['line_class']}"
        if kind not in places:
            places.add(kind)
            assert month_end.trace(line["entry_id"]).hops
    by_status = {
        (row["ramp_type"], row["status"]): row["id"]
        for row in month_end.table("ramp_requests").arrow.to_pylist()
    }
    for name in by_status.values():
        trace = month_end.trace(name)
        assert trace.hops
        assert trace._repr_html_()


@pytest.mark.acceptance
def test_an_unknown_or_empty_name_is_refused(month_end: Workspace) -> None:
    with pytest.raises(NothingStored, match="no stored record has the name 'PAY-1999-000001'"):
        month_end.trace("PAY-1999-000001")
    for nothing in ("", "  ", "---"):
        with pytest.raises(InputError, match="nothing to trace"):
            month_end.trace(nothing)


@pytest.mark.acceptance
def test_the_message_to_the_provider_contains_their_facts_and_no_internal_file(
    month_end: Workspace,
) -> None:
    missing = next(
        row
        for row in month_end.reconcile("2026-10").differences.arrow.to_pylist()
        if (row["state"], row["direction"]) == ("NOT AT BANK", "off-ramp")
    )
    paid = request(month_end, id=missing["request_id"])
    text = month_end.trace(missing["request_id"]).provider_text()
    assert text.startswith(f"Subject: {paid['payment_reference']}, off-ramp of USDC")
    for needed in (paid["payment_reference"], paid["id"], paid["blockchain_transaction_hash"]):
        assert needed in text
    assert "no credit of EUR 7,829.08 is matched" in text
    assert "Please tell us where the money is" in text
    assert ".xml" not in text
    assert "event " not in text
    whole = month_end.trace("PAY-2026-004417").provider_text()
    assert "Please confirm that this agrees" in whole


@pytest.mark.acceptance
def test_the_message_asks_for_no_money_that_we_have_not_paid(month_end: Workspace) -> None:
    rows = {row["state"]: row for row in month_end.awaiting_funds().arrow.to_pylist()}
    ask = "Please tell us where the money is"
    for state in ("PAY", "RETURNED", "SEND CRYPTO"):
        message = month_end.trace(rows[state]["request"]).provider_text()
        assert "Our records prove no payment from us to you" in message, state
        assert ask not in message, state
        assert "What is missing" not in message, state
    assert ask in month_end.trace(rows["SENT"]["request"]).provider_text()
    waiting = request(month_end, status="AWAITING_APPROVAL", ramp_type="ON_RAMP")
    assert ask not in month_end.trace(waiting["id"]).provider_text()
    denied = request(month_end, status="DENIED", ramp_type="ON_RAMP")
    assert ask not in month_end.trace(denied["id"]).provider_text()
    paid_after_its_end = month_end.trace("PAY-2026-005191")
    assert "CANCELLED" in paid_after_its_end.title
    assert ask in paid_after_its_end.provider_text()


@pytest.mark.acceptance
def test_a_return_is_described_without_internal_ids_and_with_its_step_once(
    month_end: Workspace,
) -> None:
    (back,) = [
        row for row in month_end.awaiting_funds().arrow.to_pylist() if row["state"] == "RETURNED"
    ]
    trace = month_end.trace(back["reference"])
    assert trace.next_step == "RETURNED AC04; fix, then pay again"
    went, returned = [hop for hop in trace.hops if hop.place == "Bank line"][:2]
    brings = f"returned AC04: brings back the payment of {went.on}"
    assert went.says.partition("; ")[2] == f"returned AC04: came back on {returned.on}"
    assert returned.says.partition("; ")[2] == brings
    ids = month_end.reconcile("2026-10").lines.arrow["entry_id"].to_pylist()
    message = trace.provider_text()
    assert brings in message
    assert not [id_ for id_ in ids if id_ in message]


@pytest.mark.acceptance
def test_no_message_to_the_provider_holds_an_id_of_ours(month_end: Workspace) -> None:
    """Check a line of each outcome and kind."""
    lines = month_end.reconcile("2026-10").lines.arrow.to_pylist()
    one_of_each = {(row["outcome"], row["kind"]): row["entry_id"] for row in lines}
    for name in one_of_each.values():
        message = month_end.trace(name).provider_text()
        assert not [row["entry_id"] for row in lines if row["entry_id"] in message], name


@pytest.mark.acceptance
def test_nothing_is_exchanged_for_a_request_that_ended_or_waits(month_end: Workspace) -> None:
    cancelled = request(month_end, status="CANCELLED", ramp_type="ON_RAMP")
    assert "Conversion" not in dict(places(month_end.trace(cancelled["id"])))
    waiting = request(month_end, status="AWAITING_FUNDS", ramp_type="ON_RAMP")
    (rate,) = [hop for hop in month_end.trace(waiting["id"]).hops if hop.place == "Conversion"]
    assert rate.says.startswith("not completed yet; as recorded, (EUR ")


def test_hostile_text_is_escaped(month_end: Workspace) -> None:
    hostile = next(
        line
        for line in month_end.reconcile("2026-10").lines.arrow.to_pylist()
        if "<" in (line["counterparty_name"] or "") or "<" in (line["remittance"] or "")
    )
    trace = month_end.trace(hostile["entry_id"])
    assert "<script" not in trace._repr_html_()
    assert "<img" not in trace._repr_html_()
    evil = Trace(
        asked="x", title="<b>$1$</b>\x1b[31m", next_step="<i>", names=(("a", "b\nSubject: c"),),
        hops=(Hop(place="p", state="missing", says="\u202e<u>"),), choices=trace.choices,
        company="c", known_at=trace.known_at, zone=trace.zone,
    )  # fmt: skip
    html = evil._repr_html_()
    assert not any(tag in html for tag in ("<b>$", "<i>", "<u>", "$1$"))
    assert "\x1b" not in str(evil) + repr(evil) + evil.provider_text()
    assert "a: b Subject: c" in evil.provider_text()


@pytest.mark.acceptance
def test_a_trace_is_exported_as_exact_rows(month_end: Workspace) -> None:
    frame = month_end.trace("PAY-2026-004417").to_pandas()
    assert list(frame["place"])[:2] == ["Request", "Approval"]
    assert isinstance(frame["amount"].dropna().iloc[0], Decimal)


@pytest.mark.acceptance
def test_an_earlier_instant_is_traced_with_the_knowledge_of_that_time(tmp_path: Path) -> None:
    workspace = fill(tmp_path, Sandbox(7))
    with pytest.raises(NothingStored):
        workspace.at("2026-11-01T00:00Z").trace("PAY-2026-004417")


@pytest.mark.parametrize(
    ("text", "amounts", "currency"),
    [
        ("25,000.00", {"25000"}, None),
        ("25.000,00", {"25000"}, None),
        ("EUR 25 000", {"25000"}, "EUR"),
        ("1,5 usdc", {"1.5"}, "USDC"),
        ("25.000", {"25", "25000"}, None),
        ("0.000001", {"0.000001"}, None),
        ("1'234.5", {"1234.5"}, None),
        ("PAY-2026-004417", set(), None),
        ("12-13", set(), None),
        ("1.2.3", set(), None),
    ],
)
def test_amounts_are_read_as_people_write_them(
    text: str, amounts: set[str], currency: str | None
) -> None:
    assert amounts_in(text) == ({Decimal(amount) for amount in amounts}, currency)


@given(st.text(max_size=40))
def test_any_text_parses_as_an_amount_or_gives_none(text: str) -> None:
    try:
        amounts, _ = amounts_in(text)
    except InputError:
        return
    assert all(amount >= 0 for amount in amounts)
