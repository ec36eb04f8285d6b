"""Settled records of closed months are left out of a later question without changing its answer.

The reference is matching everything, with each settled line accepted for its settled request. If
matching everything without these acceptances gives each settled line the same outcome, the answer
must equal that one too.
"""

from __future__ import annotations

import resource
import shutil
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from settled_answers import outcomes, require_alike
from settled_world import DrawnMonths

from treasury.lake import Lake
from treasury.matching.rules import Rules
from treasury.month.reconciliation import (
    Reconciliation,
    matched_in_full,
    settling_terms,
    worked_out,
)

pytestmark = pytest.mark.long_file

OPEN = ("suggested", "conflict", "duplicate", "unreferenced")


class Asked(msgspec.Struct, frozen=True):
    """One question, answered with settled records left out and with everything matched.

    `settled` maps each line to the record it was settled for, if records were left out. `out` are
    the lines that took no part, `reread` the lines that full matching would match differently.
    """

    part: Reconciliation
    full: Reconciliation
    settled: dict[str, str | None]
    out: set[str]
    reread: set[str]


def ask(world: DrawnMonths) -> Asked:
    """Ask the question with and without settled records, and compare the answers."""
    basis, closed = world.basis(None), world.closed_months()
    kept = closed and closed.read(basis.snapshot, settling_terms(basis.question))
    part, full = worked_out(world.basis(closed)).answer, worked_out(basis).answer
    whole = outcomes(full)
    out = whole.keys() - outcomes(part).keys()
    settled: dict[str, str | None] = {}
    if out:
        assert kept
        with basis.snapshot.connection(
            one_thread=True, beside={"kept": kept.database}
        ) as connection:
            rows = connection.table("kept.settled_lines").select("entry_id", "expectation_id")
            settled = dict(rows.fetchall())
    assert out <= settled.keys()
    reread = {
        entry
        for entry, expectation in settled.items()
        if (whole[entry]["outcome"], whole[entry]["expectation_id"])
        not in {("matched" if expectation else "ignored", expectation), ("returned", expectation)}
    }
    require_alike(part, full if not reread else by_decisions(world, settled), settled)
    return Asked(part, full, settled, out, reread)


def by_decisions(world: DrawnMonths, settled: dict[str, str | None]) -> Reconciliation:
    """Match everything, with each settled line accepted for its settled record."""
    world_decides = {
        entry
        for entry, rows in world.decided.items()
        if any(row["verdict"] == "accept" for row in rows)
    }
    accepted = [
        {"entry_id": entry, "expectation_id": expectation, "verdict": "accept", "reason": "settled"}
        for entry, expectation in settled.items()
        if expectation and entry not in world_decides
    ]
    return worked_out(world.basis(None, accepted)).answer


def forget(world: DrawnMonths) -> None:
    """Advance the clock, so that the question differs and no cached answer is used."""
    world.now += timedelta(days=1)


# Random months


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in range(1, 40))]
)
def test_drawn_months_are_answered_alike(seed: int, tmp_path: Path) -> None:
    world = DrawnMonths(seed, tmp_path)
    out = 0
    for _ in range(4):
        world.pass_month()
        answers = ask(world)
        out += len(answers.out)
        need = [row for row in outcomes(answers.full).values() if row["outcome"] in OPEN]
        candidates = answers.full.matches.candidates.arrow.to_pylist()
        world.decide(need, [(row["entry_id"], row["expectation_id"]) for row in candidates])
        out += len(ask(world).out)
        world.surprise()
        ask(world)
        world.close()
    assert out, "nothing was left out"


# Single cases


@pytest.fixture
def world(tmp_path: Path) -> DrawnMonths:
    """Return a company in May. In April, now closed, it had three requests from three payers."""
    world = DrawnMonths(0, tmp_path)
    world.month = world.month.next
    for number, code in enumerate(("PAY-2026-004417", "PAY-2026-004435", "INV-77-08153"), 1):
        request = world.request() | {
            "id": f"r{number}",
            "payment_reference": code,
            "ramp_type": "OFF_RAMP",
            "fiat_amount": Decimal(100 * number),
            "fiat_net_amount": Decimal(100 * number),
            "company_bank_account_iban": "BE68539007547034",
            "deposit_iban": None,
            "created_at": world.now,
        }
        world.requests[request["id"]] = request
        world.book([paid(world, request, entry_id=f"e{number}")])
        request |= {"status": "SUCCEEDED", "is_open": False, "completed_at": world.now}
    world.store()
    world.close()
    world.month = world.month.next
    assert not ask(world).out, "the run that settles does not leave settled records out"
    return world


def paid(world: DrawnMonths, request: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a line that names a request in full, from the payer with the request's number."""
    number = request["id"][1:]
    row = world.line(request, text=f"Invoice {request['payment_reference']}", day=world.month.first)
    same = {
        "amount": request["fiat_amount"],
        "end_to_end_id": f"E2E-{number}",
        "counterparty_name": f"Payer {number}",
        "counterparty_account": f"LT00000000000000100{number}",
    }
    return row | same | more


@pytest.mark.acceptance
def test_unaffected_lines_are_left_out(world: DrawnMonths) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    out = ask(world).out
    # e1 takes part, because the first line of each account (by id) is never left out.
    assert out == {"e2", "e3"}


LINES: dict[str, dict[str, Any]] = {
    "paid again": {"remittance": ["Invoice PAY-2026-004435"]},
    "paid again, of another amount": {"remittance": ["PAY-2026-004435"], "amount": Decimal(70)},
    "split": {"remittance": ["PAY-2026-00 4435"], "amount": Decimal(200)},
    "one character off": {"remittance": ["PAY-2026-004436"]},
    "two characters swapped": {"remittance": ["PAY-2026-004453"]},
    "cut off": {"remittance": ["PAY-2026-0044"]},
    "letters for digits": {"remittance": ["PAY-2O26-OO4435"]},
    "inside a longer word": {"remittance": ["XPAY-2026-004435X"]},
    "without zeros, apart from its label": {"remittance": ["PAY no. 2026-4435"]},
    "between slashes": {"remittance": ["/RFB/PAY-2026-004435/INV"]},
    "in another field": {"remittance": ["as agreed"], "end_to_end_id": "PAY-2026-004435"},
    "next to another code": {"remittance": ["PAY-2026-004435 VFY-8M3T-407"]},
    "returned in full, marked as a return": {
        "remittance": ["Return"], "return_reason": "AC04", "original_end_to_end_id": "E2E-2",
        "direction": "DBIT",
    },
    "returned in part, marked as a return": {
        "remittance": ["PAY-2026-004435"], "return_reason": "AC04", "amount": Decimal(50),
        "original_end_to_end_id": "E2E-2", "direction": "DBIT",
    },
    "returned without a mark": {"remittance": ["Refund"], "direction": "DBIT"},
}  # fmt: skip


@pytest.mark.first_case
@pytest.mark.parametrize("case", LINES)
def test_a_line_that_may_concern_a_settled_request_includes_it_in_matching(
    world: DrawnMonths, case: str
) -> None:
    line = paid(world, world.requests["r2"], entry_id="new", end_to_end_id=None) | LINES[case]
    world.book([line])
    world.store()
    answers = ask(world)
    part = answers.part
    assert "e2" not in answers.out
    assert outcomes(part)["new"]["expectation_id"] or outcomes(part)["new"]["outcome"] == "conflict"


@pytest.mark.acceptance
def test_a_double_payment_is_reported(world: DrawnMonths) -> None:
    world.book([paid(world, world.requests["r2"], entry_id="new")])
    world.store()
    part = ask(world).part
    assert outcomes(part)["new"]["outcome"] == "duplicate"


@pytest.mark.acceptance
def test_a_payer_stays_known_from_a_settled_line(world: DrawnMonths) -> None:
    request = world.requests["r2"] | {
        "id": "r9",
        "payment_reference": "XYZ-40-99001",
        "status": "AWAITING_FUNDS",
        "is_open": True,
        "completed_at": None,
        "created_at": world.now + timedelta(days=1),
        "fiat_amount": Decimal(321),
        "fiat_net_amount": Decimal(321),
    }
    world.requests["r9"] = request
    payer = {"counterparty_account": "LT000000000000001002", "counterparty_name": "Payer 2"}
    text = {"remittance": ["as agreed"], "end_to_end_id": None}
    day = world.month.first + timedelta(days=5)
    world.book([paid(world, request, entry_id="new", booking_date=day) | payer | text])
    world.store()
    answers = ask(world)
    part = answers.part
    assert "e2" in answers.out
    new = outcomes(part)["new"]
    assert (new["outcome"], new["expectation_id"]) == ("suggested", "r9")
    assert "known counterparty" in new["reason"]


@pytest.mark.acceptance
def test_a_payer_known_for_a_settled_code_alone_is_asked_about(world: DrawnMonths) -> None:
    """An open request is paid by its own payer, and then by the payer of a settled request."""
    request = world.requests["r2"] | {
        "id": "r9",
        "payment_reference": "XYZ-40-99001",
        "status": "AWAITING_FUNDS",
        "is_open": True,
        "completed_at": None,
        "fiat_amount": Decimal(900),
        "fiat_net_amount": Decimal(900),
    }
    world.requests["r9"] = request
    first, second = world.month.first + timedelta(days=1), world.month.first + timedelta(days=9)
    own = {"counterparty_account": "LT000000000000001009", "counterparty_name": "Payer 9"}
    other = {"counterparty_account": "LT000000000000001002", "counterparty_name": "Payer 2"}
    ids = {"end_to_end_id": None}
    world.book(
        [
            paid(world, request, entry_id="own", booking_date=first, amount=Decimal(10))
            | own
            | ids,
            paid(world, request, entry_id="new", booking_date=second, amount=Decimal(10))
            | other
            | ids,
        ]
    )
    world.store()
    answers = ask(world)
    part = answers.part
    assert "e2" in answers.out
    assert outcomes(part)["new"]["outcome"] == "suggested"
    assert "its payer is known for another code" in outcomes(part)["new"]["reason"]


@pytest.mark.acceptance
def test_payments_without_a_reference_still_match_by_settled_payments(
    world: DrawnMonths,
) -> None:
    """Three months have a wire of one amount to one account; the last wire has no reference."""
    wire = {
        "ramp_type": "ON_RAMP",
        "deposit_iban": "LT000000000000000009",
        "fiat_amount": Decimal(777),
    }
    text = {"remittance": ["as agreed"], "end_to_end_id": None}
    for month in range(3):
        day = world.month.first + timedelta(days=4)
        made = datetime.combine(world.month.first, datetime.min.time(), UTC)
        request = world.requests["r2"] | wire
        request |= {"id": f"r{5 + month}", "payment_reference": f"PAY-2026-00910{month}"}
        request |= {"created_at": made, "completed_at": made, "company_bank_account_iban": None}
        request |= {"updated_at": made}
        line = paid(world, request, entry_id=f"e{5 + month}", booking_date=day)
        line |= {"counterparty_account": wire["deposit_iban"], "counterparty_name": "Ramp Operator"}
        if month == 2:
            request |= {"status": "AWAITING_FUNDS", "is_open": True, "completed_at": None}
            line |= text
        world.requests[request["id"]] = request
        world.book([line])
        world.store()
        if month < 2:
            world.close()
            world.month = world.month.next
            ask(world)
    answers = ask(world)
    part = answers.part
    assert {"e5", "e6"} & answers.out
    assert "paid for its counterparty before" in outcomes(part)["e7"]["reason"]


@pytest.mark.acceptance
def test_a_later_request_does_not_change_a_decided_line(world: DrawnMonths) -> None:
    """Matched again, the settled line would be ambiguous: its text may mean the later request."""
    again = world.requests["r2"] | {"id": "again"}
    again |= {"status": "AWAITING_FUNDS", "is_open": True, "completed_at": None}
    world.requests["again"] = again
    world.store()
    answers = ask(world)
    assert (answers.reread, "e2" in answers.out) == ({"e2"}, True)
    world.book([paid(world, again, entry_id="new")])
    world.store()
    new = outcomes(ask(world).part)["new"]
    assert new["outcome"] in OPEN, "a text that two requests may mean is a question"


@pytest.mark.acceptance
def test_a_late_line_before_a_settled_one_causes_full_matching(
    world: DrawnMonths,
) -> None:
    day = world.lines["e2"]["booking_date"] - timedelta(days=1)
    world.book([paid(world, world.requests["r2"], entry_id="late", booking_date=day)])
    world.store()
    part = changed(world)
    assert outcomes(part)["late"]["outcome"] == "matched"
    assert outcomes(part)["e2"]["outcome"] == "duplicate"
    forget(world)
    assert {"late", "e2"} & ask(world).out == set(), "they are no longer settled"


@pytest.mark.acceptance
def test_a_second_use_of_a_settled_requests_hash_is_reported(world: DrawnMonths) -> None:
    """The hash in the settled request's record shows this; no line's text does."""
    hash_ = "0x" + "ab" * 32
    for name in ("r1", "r2", "r3"):
        world.requests[name]["blockchain_transaction_hash"] = hash_[:-1] + name[1]
    world.store()
    changed(world)
    world.requests["r9"] = world.requests["r2"] | {
        "id": "r9", "payment_reference": "XYZ-40-99001", "status": "AWAITING_FUNDS",
        "is_open": True, "completed_at": None,
    }  # fmt: skip
    world.store()
    answers = ask(world)
    assert "e2" not in answers.out
    assert answers.out
    assert "HASH USED TWICE" in str(answers.part.differences.arrow.to_pylist())


@pytest.mark.acceptance
def test_a_partial_answer_can_be_matched_in_full(world: DrawnMonths) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    answers = ask(world)
    assert answers.part.is_partial
    assert matched_in_full(answers.part).matches.lines.arrow.equals(
        answers.full.matches.lines.arrow
    )
    assert matched_in_full(answers.full) is answers.full


def changed(world: DrawnMonths) -> Reconciliation:
    """Check that the last change left no record out, and return the answer."""
    answers = ask(world)
    assert not answers.out
    return answers.part


@pytest.mark.acceptance
def test_after_a_line_changed_everything_is_matched(world: DrawnMonths) -> None:
    world.lines["e2"]["entry_status"] = "SUPERSEDED"
    world.store()
    states = {
        row["expectation_id"]: row for row in changed(world).matches.expectations.arrow.to_pylist()
    }
    assert states["r2"]["state"] == "open"
    world.lines["e2"]["entry_status"] = "BOOK"
    world.store()
    assert "e2" not in ask(world).out, "it came again after the others were settled"


@pytest.mark.acceptance
def test_after_a_request_was_reopened_by_its_service_everything_is_matched(
    world: DrawnMonths,
) -> None:
    world.requests["r2"] |= {"status": "PROCESSING", "is_open": True, "completed_at": None}
    world.store()
    assert "r2" in changed(world).matches.expectations.arrow["expectation_id"].to_pylist()


@pytest.mark.acceptance
def test_after_a_statement_lost_its_proof_everything_is_matched(world: DrawnMonths) -> None:
    world.statements[world.lines["e2"]["statement_id"]] |= {"proved": False, "proof": "fails"}
    world.store()
    assert outcomes(changed(world))["e2"]["outcome"] == "suggested"


@pytest.mark.acceptance
def test_after_a_virtual_account_changed_everything_is_matched(world: DrawnMonths) -> None:
    world.virtual |= {"reference_code": "PAY-2026-0044"}
    world.store()
    changed(world)


@pytest.mark.acceptance
def test_after_a_late_decision_everything_is_matched(world: DrawnMonths) -> None:
    world.judge("e2", "ignore", None)
    assert outcomes(changed(world))["e2"]["outcome"] == "ignored"
    del world.decided["e2"]
    assert outcomes(changed(world))["e2"]["outcome"] == "matched"


@pytest.mark.acceptance
def test_after_other_rules_everything_is_matched(world: DrawnMonths) -> None:
    world.rules = Rules(window_days=20)
    changed(world)


@pytest.mark.acceptance
def test_a_reopened_month_is_matched_and_settled_again_by_its_close(world: DrawnMonths) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    assert ask(world).out
    world.reopen()
    assert not ask(world).out
    world.month = world.month.previous
    world.close()
    world.month = world.month.next
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    changed(world)
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    assert "e2" in ask(world).out


@pytest.mark.acceptance
def test_a_close_adds_its_month_to_the_settled_records(world: DrawnMonths) -> None:
    request = world.requests["r2"] | {"id": "r4", "payment_reference": "INV-77-09876"}
    day = datetime.combine(world.month.first, datetime.min.time(), UTC)
    amounts = {"fiat_amount": Decimal(400), "fiat_net_amount": Decimal(400)}
    request |= {"created_at": day, "updated_at": day, "completed_at": day, **amounts}
    world.requests["r4"] = request
    world.book([paid(world, request, entry_id="e4", end_to_end_id="E2E-4")])
    world.store()
    assert "e2" in ask(world).out
    world.now += timedelta(days=1)
    world.close()
    world.month = world.month.next
    assert "e4" not in ask(world).out, "this run settles it"
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    assert {"e3", "e4"} <= ask(world).out


@pytest.mark.acceptance
def test_altered_files_of_settled_records_are_rebuilt(
    world: DrawnMonths,
) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    for spoil in ("settled-*.duckdb", "settled.json"):
        (file,) = (world.folder / "settled").glob(spoil)
        file.write_bytes(file.read_bytes()[:-1])
        forget(world)
        assert not ask(world).out
        forget(world)
        assert "e2" in ask(world).out
    (contents,) = (world.folder / "settled").glob("settled.json")
    named = msgspec.json.decode(contents.read_bytes())
    contents.write_bytes(msgspec.json.encode(named | {"database": "../treasury.duckdb"}))
    forget(world)
    assert not ask(world).out, "only its own folder is read"


@pytest.mark.acceptance
def test_settled_records_of_a_lake_before_its_restore_are_ignored(
    world: DrawnMonths, tmp_path: Path
) -> None:
    """The settled records include a change of a line that the restored lake does not have."""
    lake = world.lake.folder
    line = world.line(None, text="as agreed", day=world.month.first, entry_id="e9")
    world.book([line])
    world.store()
    shutil.copytree(lake, tmp_path / "copy")
    world.lines["e9"] = line | {"amount": line["amount"] + 1}
    world.store()
    shutil.rmtree(world.folder / "settled")
    forget(world)
    assert not ask(world).out, "this run settles it"
    shutil.rmtree(lake)
    shutil.copytree(tmp_path / "copy", lake)
    world.lake = Lake(world.lake.workspace, world.lake.catalogue.values())
    world.lines["e9"] = line
    for day in (1, 2):
        world.book([world.line(None, text=f"as agreed {day}", day=world.month.first)])
        world.store()
    assert not ask(world).out


@pytest.mark.acceptance
def test_a_full_disk_prevents_no_answer_and_leaves_no_partial_file(
    world: DrawnMonths,
) -> None:
    shutil.rmtree(world.folder / "settled")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The first size is reached in the database's first block, the second at its commit.
    for size in (4_096, 12_288):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            forget(world)
            basis = world.basis(world.closed_months())
            assert worked_out(basis).answer.matches.lines.arrow.num_rows
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not [*(world.folder / "settled").iterdir()]


@pytest.mark.acceptance
def test_everything_is_matched_if_the_settled_folder_cannot_be_created(
    world: DrawnMonths,
) -> None:
    shutil.rmtree(world.folder / "settled")
    (world.folder / "settled").write_text("a file", encoding="utf-8")
    forget(world)
    assert not ask(world).out


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_byte_in_the_settled_files_changes_no_answer(
    world: DrawnMonths, seed: int
) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    (database,) = (world.folder / "settled").glob("settled-*.duckdb")
    content, random = bytearray(database.read_bytes()), Random(seed)
    for _ in range(40):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    database.write_bytes(content)
    forget(world)
    ask(world)


@pytest.mark.acceptance
def test_credits_of_the_provider_are_never_settled(world: DrawnMonths) -> None:
    pool = {"account": "LT121000011101001000", "creditor_account": "LT601010012345678901"}
    day = world.month.previous.first
    world.book([world.line(None, text="VFY-8M3T-407", day=day, entry_id="va", **pool)])
    world.store()
    ask(world)
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    assert "va" not in ask(world).out
