"""What closes settled is left out of a later month's question, whose answer stays the same."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from decide_desk import ANNA, clock_at, copy_of, double, october
from settled_world import DrawnMonths
from signed import close_month

from treasury.calendar import Month
from treasury.errors import WorkspaceDamaged
from treasury.journal.turns import read_decided
from treasury.reconcile.monthly import Reconciliation, worked_out
from treasury.reconcile.periods import reconcile
from treasury.reconcile.settled import Settled, families_of, settled_before, standing_tables
from treasury.workspace import Workspace

NOVEMBER = "2026-11-20T08:00:00+00:00"
OPEN = ("suggested", "conflict", "duplicate", "unreferenced")
MORE = ("bank_cutoffs", "excess_lines")
"""Tables of an answer that have no sheet."""


def outcomes(answer: Reconciliation) -> dict[str, dict[str, Any]]:
    return {row["entry_id"]: row for row in answer.matches.lines.to_pylist()}


def require_alike(part: Reconciliation, full: Reconciliation) -> set[str]:
    """The same answer with what is settled left out; the lines that are left out."""
    tables = {**full.sheets(), **{name: getattr(full, name) for name in MORE}}
    ours = {**part.sheets(), **{name: getattr(part, name) for name in MORE}}
    for name, table in tables.items():
        assert ours[name].equals(table), name
    matched, whole = outcomes(part), outcomes(full)
    for entry, row in matched.items():
        assert row == whole[entry]
    out = set(whole) - set(matched)
    assert not [entry for entry in out if whole[entry]["outcome"] in OPEN]
    return out


def asked(world: DrawnMonths) -> tuple[Reconciliation, Reconciliation]:
    """The month's answer with what is settled left out, and with everything matched."""
    return worked_out(world.basis(world.given())).answer, worked_out(world.basis(None)).answer


# Drawn


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.acceptance] * (seed > 0)) for seed in range(12)]
)
def test_drawn_months_are_answered_alike(seed: int, tmp_path: Path) -> None:
    world = DrawnMonths(seed, tmp_path)
    out = 0
    for _ in range(4):
        world.pass_month()
        part, full = asked(world)
        need = [row for row in outcomes(full).values() if row["outcome"] in OPEN]
        candidates = full.matches.candidates.to_pylist()
        world.decide(need, [(row["entry_id"], row["expectation_id"]) for row in candidates])
        world.surprise()
        part, full = asked(world)
        out += len(require_alike(part, full))
        world.close()
    assert out > 20, "hardly anything was left out"


# Case by case


@pytest.fixture
def world(tmp_path: Path) -> DrawnMonths:
    """April, closed: three requests received in full, each by a payer of its own."""
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
    return world


def paid(world: DrawnMonths, request: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line that names a request in full, by the payer of its number."""
    number = request["id"][1:]
    row = world.line(request, text=f"Invoice {request['payment_reference']}", day=world.month.first)
    same = {
        "amount": request["fiat_amount"],
        "end_to_end_id": f"E2E-{number}",
        "counterparty_name": f"Payer {number}",
        "counterparty_account": f"LT00000000000000100{number}",
    }
    return row | same | more


def test_what_nothing_concerns_is_left_out(world: DrawnMonths) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    out = require_alike(*asked(world))
    # of a length of codes that nothing open has one takes part: texts are read as far as ever
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
    "between slashes": {"remittance": ["/RFB/PAY-2026-004435/INV"]},
    "in another field": {"remittance": ["as agreed"], "end_to_end_id": "PAY-2026-004435"},
    "beside another code": {"remittance": ["PAY-2026-004435 VFY-8M3T-407"]},
    "the whole came back, marked": {
        "remittance": ["Return"], "return_reason": "AC04", "original_end_to_end_id": "E2E-2",
        "direction": "DBIT",
    },
    "a part came back, marked": {
        "remittance": ["PAY-2026-004435"], "return_reason": "AC04", "amount": Decimal(50),
        "original_end_to_end_id": "E2E-2", "direction": "DBIT",
    },
    "it came back without a word": {"remittance": ["Refund"], "direction": "DBIT"},
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_a_line_that_may_concern_a_settled_request_takes_it_up_again(
    world: DrawnMonths, case: str
) -> None:
    line = paid(world, world.requests["r2"], entry_id="new", end_to_end_id=None) | LINES[case]
    world.book([line])
    world.store()
    part, full = asked(world)
    assert "e2" not in require_alike(part, full)
    assert outcomes(part)["new"]["expectation_id"] or outcomes(part)["new"]["outcome"] == "conflict"


def test_money_paid_twice_is_said_to_be(world: DrawnMonths) -> None:
    world.book([paid(world, world.requests["r2"], entry_id="new")])
    world.store()
    part, _ = asked(world)
    assert outcomes(part)["new"]["outcome"] == "duplicate"


def test_a_payer_stays_known_from_a_settled_line_alone(world: DrawnMonths) -> None:
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
    part, full = asked(world)
    assert "e2" in require_alike(part, full)
    new = outcomes(part)["new"]
    assert (new["outcome"], new["expectation_id"]) == ("suggested", "r9")
    assert "known counterparty" in new["reason"]


def test_a_payer_known_for_a_settled_code_alone_is_asked_about(world: DrawnMonths) -> None:
    """Two settled codes, each with a payer; the open one is known for a third and paid by one."""
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
    part, full = asked(world)
    assert "e2" in require_alike(part, full)
    assert outcomes(part)["new"]["outcome"] == "suggested"
    assert "its payer is known for another code" in outcomes(part)["new"]["reason"]


def test_a_new_request_with_a_settled_code_takes_it_up_again(world: DrawnMonths) -> None:
    for number, code in enumerate(("PAY-2026-004435", "PAY-2026-0044351")):
        again = world.requests["r2"] | {"id": f"again{number}", "payment_reference": code}
        again |= {"status": "AWAITING_FUNDS", "is_open": True, "completed_at": None}
        world.requests[again["id"]] = again
        world.store()
        assert "e2" not in require_alike(*asked(world))
        del world.requests[again["id"]]


def test_records_that_change_take_up_their_family(world: DrawnMonths) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first)])
    world.lines["e2"]["entry_status"] = "SUPERSEDED"
    world.store()
    part, full = asked(world)
    require_alike(part, full)
    states = {row["expectation_id"]: row for row in part.matches.expectations.to_pylist()}
    assert states["r2"]["state"] == "open"
    world.lines["e2"]["entry_status"] = "BOOK"
    world.store()
    assert "e2" not in require_alike(*asked(world)), "it came again after the close"


def test_a_request_that_the_service_reopens_is_open_again(world: DrawnMonths) -> None:
    world.requests["r2"] |= {"status": "PROCESSING", "is_open": True, "completed_at": None}
    world.store()
    part, full = asked(world)
    assert "e2" not in require_alike(part, full)
    assert "r2" in part.matches.expectations["expectation_id"].to_pylist()


def test_a_late_decision_takes_up_the_line_and_its_request(world: DrawnMonths) -> None:
    world.store()
    world.judge("e2", "ignore", None)
    part, full = asked(world)
    assert "e2" not in require_alike(part, full)
    assert outcomes(part)["e2"]["outcome"] == "ignored"


def test_what_was_taken_up_when_a_month_closed_is_settled_by_that_close(world: DrawnMonths) -> None:
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.judge("e2", "accept", "r2")
    world.store()
    world.close()
    assert world.closes[-1][2]["settled_again"].num_rows
    assert "e2" in world.closes[-1][2]["settled_lines"]["entry_id"].to_pylist()
    assert "r2" in world.closes[-1][2]["settled_requests"]["expectation_id"].to_pylist()
    world.month = world.month.next
    world.book([world.line(None, text="as agreed", day=world.month.first, end_to_end_id=None)])
    world.store()
    assert "e2" in require_alike(*asked(world))
    tables = standing_tables(world.closes, world.named, ())
    assert tables["settled_lines"]["entry_id"].to_pylist().count("e2") == 1


def test_credits_of_the_provider_are_never_settled(world: DrawnMonths) -> None:
    pool = {"account": "LT121000011101001000", "creditor_account": "LT601010012345678901"}
    world.month = world.month.previous
    world.book(
        [world.line(None, text="VFY-8M3T-407", day=world.month.first, entry_id="va", **pool)]
    )
    world.store()
    world.close()
    for _, _, tables in world.closes:
        assert "va" not in tables["settled_lines"]["entry_id"].to_pylist()


# Families


def test_a_family_with_one_unsettled_member_is_settled_not_at_all() -> None:
    ties = pa.table(
        {
            "entry_id": ["a", "b", "c", "d"],
            "expectation_id": ["x", "x", "y", None],
            "other_id": pa.array([None, None, None, "e"], pa.string()),
        }
    )
    found = families_of(["a", "c", "d", "e", "f"], ["x", "y", "z"], ties)
    assert found[("line", "c")] == found[("request", "y")]
    assert found[("line", "d")] == found[("line", "e")]
    assert {("line", "f"), ("request", "z")} <= found.keys()
    assert not {("line", "a"), ("request", "x")} & found.keys(), "b may not be settled"


# Workspaces whose months two people closed


@pytest.fixture(scope="module")
def closed(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """September and October closed, on 20 November, with a line of November; to be copied."""
    desk = copy_of(month_end, tmp_path_factory.mktemp("settled") / "desk")
    for month in ("2026-09", "2026-10"):
        close_month(desk, month)
    later = clock_at(desk, NOVEMBER)
    double(later, october(later)[0]["entry_id"], booking_date=date(2026, 11, 5))
    return later


def in_full(answer: Reconciliation) -> Reconciliation:
    """The same question with everything matched."""
    assert answer.basis is not None
    return reconcile(msgspec.structs.replace(answer.basis, settled=None))


def left_out(desk: Workspace, month: str = "2026-11") -> set[str]:
    answer = desk.reconcile(month)
    return require_alike(answer, in_full(answer))


def test_an_open_month_after_closed_ones_is_answered_alike(
    closed: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    out = left_out(desk)
    assert out, "something of September or October is settled"
    line = min(out)
    desk.matches.ignore(line, reason="late", actor=ANNA)
    assert line not in left_out(desk)
    assert desk.trace(line).hops, "a settled line is traced as ever"
    assert len(desk.matches.open())


def test_a_reopened_month_settles_nothing_any_more(closed: Workspace, tmp_path: Path) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    before = left_out(desk)
    desk.periods.reopen("2026-10", "a statement was wrong", actor=ANNA)
    after = left_out(desk)
    assert after < before
    desk.periods.reopen("2026-09", "another, too", actor=ANNA)
    assert not left_out(desk)


def test_under_other_rules_everything_is_matched(closed: Workspace, tmp_path: Path) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    assert left_out(desk)
    (desk.folder / "rules.toml").write_text("window_days = 20\n", "utf-8")
    assert not left_out(Workspace(desk.folder))


def test_only_earlier_closes_that_stand_settle_under_their_own_rules_and_accounts(
    closed: Workspace,
) -> None:
    entries, accounts = read_decided(closed.journal).entries, closed.settings.accounts
    rules = closed.rules.current().hash

    def closes(month: str, **other: Any) -> list[str]:
        found = before(month, **other)
        return [] if found is None else [one.month for one in found.closes]

    def before(month: str, **other: Any) -> Settled | None:
        zone = closed.settings.zone.key
        asked = {"accounts": accounts, "zone": zone, "rules_hash": rules, "steps": ""} | other
        given = asked.pop("entries", entries)
        return settled_before(closed.folder, Month.parse(month), given, **asked)

    assert closes("2026-11") == ["2026-09", "2026-10"]
    assert closes("2026-10") == ["2026-09"]
    assert not closes("2026-09")
    assert not closes("2026-11", rules_hash="another")
    assert not closes("2026-11", accounts=accounts[1:])
    assert not closes("2026-11", zone="Asia/Tokyo")
    last = max(one.seq for one in entries if one.kind == "period.close")
    assert closes("2026-11", entries=[one for one in entries if one.seq < last]) == ["2026-09"]
    found = before("2026-11", steps="other steps")
    assert found is not None
    assert not found.tables()["settled_lines"].num_rows


def test_what_a_close_settled_is_held_against_the_journal(
    closed: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    file = min(desk.folder.glob("closes/*/settled_lines.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(
        WorkspaceDamaged, match=r"settled_lines\.parquet, which the close of 2026-09"
    ):
        desk.reconcile("2026-11")
    file.unlink()
    with pytest.raises(WorkspaceDamaged, match="settled_lines"):
        desk.reconcile("2026-11")


def test_a_closed_month_comes_out_again_whatever_it_settled(closed: Workspace) -> None:
    for month in ("2026-09", "2026-10"):
        assert closed.periods.verify(month).answer.month
