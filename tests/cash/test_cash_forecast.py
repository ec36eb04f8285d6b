"""The forecast: overdue, moved, unseen and undated flows, own flows, floors, weeks."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from cash_desks import OPERATING, RESERVE, desk_of, entry, statement
from msgspec.structs import replace

from treasury.close.cash.cash_answer import Cash
from treasury.close.cash.known_flows import Flow, FlowClock
from treasury.close.cash.own_flows import OwnFlow, read_flows
from treasury.core.calendar import Month
from treasury.core.errors import InputError, SettingsError, TreasuryError
from treasury.journal import Actor
from treasury.report.cash.cash_section import flows_section
from treasury.workspace import Workspace

MONDAY = date(2026, 11, 2)
CLOCK = FlowClock(
    today=MONDAY, last=date(2026, 11, 15), service_to=date(2026, 11, 1),
    proved_to={(OPERATING, "EUR"): date(2026, 10, 30)},
)  # fmt: skip
FLOW = Flow(
    state="undated", flow="payout", day=None, due=None, item="P", direction="in",
    amount=Decimal(5), currency="EUR", account="", evidence="",
)  # fmt: skip


def placed(
    due: date | None,
    *,
    currency: str = "EUR",
    amount: Decimal | None = FLOW.amount,
    evidence_to: date | None = None,
    is_our_move: bool = False,
) -> tuple[str, date | None]:
    flow = replace(FLOW, due=due, currency=currency, amount=amount)
    flow = CLOCK.placed(flow, evidence_to=evidence_to, is_our_move=is_our_move)
    return flow.state, flow.day


def test_a_flow_falls_on_its_day_or_is_listed_separately() -> None:
    tuesday, saturday = date(2026, 11, 3), date(2026, 11, 7)
    assert placed(tuesday) == ("expected", tuesday)
    assert placed(saturday) == ("expected", date(2026, 11, 9))
    # Coins have no calendar.
    assert placed(saturday, currency="USDC") == ("expected", saturday)
    assert placed(None) == ("undated", None)
    assert placed(tuesday, amount=None) == ("undated", None)
    assert placed(date(2026, 11, 16)) == ("later", None)
    late = date(2026, 10, 29)
    assert placed(late) == ("overdue", MONDAY)
    assert placed(late, evidence_to=date(2026, 10, 28)) == ("overdue", MONDAY)
    assert placed(late, evidence_to=late) == ("not_seen", None)
    assert placed(late, evidence_to=late, is_our_move=True) == ("overdue", MONDAY)


def test_the_evidence_of_a_currency_reaches_as_far_as_its_weakest_account() -> None:
    other = {(RESERVE, "EUR"): date(2026, 10, 28)}
    clock = FlowClock(
        today=MONDAY, last=MONDAY, service_to=None, proved_to={**CLOCK.proved_to, **other}
    )
    assert clock.evidence_to(OPERATING, "EUR") == date(2026, 10, 30)
    assert clock.evidence_to("", "EUR") == date(2026, 10, 28)
    assert clock.evidence_to("", "USD") is None
    unread = FlowClock(
        today=MONDAY, last=MONDAY, service_to=None,
        proved_to={**CLOCK.proved_to, (RESERVE, "EUR"): None},
    )  # fmt: skip
    assert unread.evidence_to("", "EUR") is None


def test_a_repeated_flow_is_named_once_and_moves_off_closed_days() -> None:
    rent = OwnFlow(
        day=date(2026, 8, 31), amount=Decimal(-5), currency="EUR", every="month",
        until=date(2027, 1, 31),
    )  # fmt: skip
    # 31 October 2026 is a Saturday; a shorter month has its last day.
    assert list(rent.days(MONDAY, date(2027, 6, 30))) == [
        (date(2026, 10, 31), MONDAY),
        (date(2026, 11, 30), date(2026, 11, 30)),
        (date(2026, 12, 31), date(2026, 12, 31)),
        (date(2027, 1, 31), date(2027, 2, 1)),
    ]
    before = OwnFlow(
        day=date(2026, 11, 7), amount=Decimal(-5), currency="EUR", every="week", moves_back=True
    )
    assert list(before.days(MONDAY, date(2026, 11, 15))) == [
        (date(2026, 11, 7), date(2026, 11, 6)),
        (date(2026, 11, 14), date(2026, 11, 13)),
    ]
    coins = OwnFlow(day=date(2026, 11, 7), amount=Decimal(-5), currency="USDC")
    assert list(coins.days(MONDAY, date(2026, 11, 15))) == [(date(2026, 11, 7),) * 2]


FLOWS = """\
date;amount;currency;account;text;every;if_closed
05.11.2026;-1.250,00;EUR;{operating};Rent;month;
7 Nov 2026;-200,00;eur;;Tax;;previous
12/10/2026;200,00;EUR;;Customer;;
13/10/2026;77,00;EUR;;Never came;;
06/11/2026;500,00;EUR;{reserve};Interest;;
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("cash") / "desk"
    workspace = desk_of(
        folder,
        statement(OPERATING, "1000.00", "1200.00", [entry("200.00", "2026-10-12")]),
        statement(RESERVE, "400.00", "400.00"),
        floors=("0.00", "950.00"),
    )
    text = FLOWS.format(operating=OPERATING, reserve=RESERVE)
    (folder / "flows.csv").write_text(text, "utf-8")
    return workspace


@pytest.fixture(scope="module")
def cash(desk: Workspace) -> Cash:
    return desk.cash()


def test_own_flows_are_read_from_the_file_of_the_workspace(cash: Cash) -> None:
    assert [
        (row["item"], row["state"], row["day"], row["direction"], row["amount"])
        for row in cash.flows.arrow.to_pylist()
    ] == [
        ("Rent", "expected", date(2026, 11, 5), "out", 1250),
        ("Interest", "expected", date(2026, 11, 6), "in", 500),
        ("Tax", "expected", date(2026, 11, 6), "out", 200),
        # The customer's payment was booked, so it is no longer a flow.
        ("Never came", "not_seen", None, "in", 77),
    ]
    days = {row["day"]: row for row in cash.forecast.arrow.to_pylist()}
    assert len(days) == 14
    assert days[date(2026, 11, 4)]["balance"] == 1600
    assert (days[date(2026, 11, 5)]["balance"], days[date(2026, 11, 5)]["is_lowest"]) == (350, True)
    assert days[date(2026, 11, 6)]["balance"] == days[date(2026, 11, 15)]["balance"] == 650
    assert [row["is_lowest"] for row in days.values()].count(True) == 1
    assert "lowest EUR 350.00 on 5 Nov" in repr(cash)


def test_an_account_is_compared_with_its_floor(cash: Cash) -> None:
    assert [
        (row["name"], row["lowest"], row["lowest_on"], row["unassigned"], row["verdict"])
        for row in cash.floors.arrow.to_pylist()
    ] == [
        ("Operating", -50, date(2026, 11, 5), 200, "below"),
        ("Reserve", 400, MONDAY, 200, "below"),
    ]


@pytest.mark.acceptance
def test_a_floor_may_depend_on_the_account_that_pays(tmp_path: Path) -> None:
    files = [statement(account, "400.00", "400.00") for account in (OPERATING, RESERVE)]
    payment = {"date": date(2026, 11, 4), "amount": Decimal(-100), "currency": "EUR"}
    cash = desk_of(tmp_path / "desk", *files, floors=("350.00", "300.00")).cash(flows=[payment])
    assert [row["verdict"] for row in cash.floors.arrow.to_pylist()] == ["depends", "above"]
    alone = desk_of(tmp_path / "other", files[0], floors=("", "300.00")).cash(flows=[payment])
    assert [row["verdict"] for row in alone.floors.arrow.to_pylist()] == ["not_proved"]


def test_a_floor_that_is_not_an_amount_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="floor 'low'"):
        desk_of(tmp_path / "desk", floors=("low", ""))


def test_a_long_forecast_is_by_week_with_the_lowest_day_inside(desk: Workspace) -> None:
    rows = desk.cash(60).forecast.arrow.to_pylist()
    assert [row["day"] for row in rows] == [MONDAY + timedelta(weeks=week) for week in range(9)]
    first, last = rows[0], rows[-1]
    assert (first["last_day"], first["balance"], first["lowest"]) == (date(2026, 11, 8), 650, 350)
    assert last["last_day"] == MONDAY + timedelta(days=59)
    # The rent of December is in it, named once.
    assert next(row for row in rows if row["is_lowest"])["lowest"] == -600
    assert len(desk.cash(59).forecast) == 59


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("2026-11-05,1.250,EUR,,,", "line 2: '1.250' may have decimals or thousands"),
        ("2026-11-05,12x,EUR,,,", "line 2: amount: '12x' is not an amount"),
        ("31 Feb,12,EUR,,,", "line 2, date"),
        ("2026-11-05,12.00,EUR,NL91ABNA0417164301,,", "is not an account in treasury.toml; is it"),
        ("2026-11-05,12.00,EUR,,,monht", "every: 'monht' is not known; is it month"),
        ("2026-11-05,,EUR,,,", "line 2: amount is empty"),
        ("2026-11-05,12.00,EUE,,,", "line 2: 'EUE' is not a currency"),
        ("2026-11-05,12.00,USD,NL91ABNA0417164300,,", "is not declared in 'USD'"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(
    desk: Workspace, tmp_path: Path, line: str, problem: str
) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(f"date,amount,currency,account,text,every\n{line}\n", "utf-8")
    with pytest.raises(InputError) as error:
        read_flows(path, desk.settings.accounts)
    assert problem in str(error.value)


def test_a_table_of_flows_with_a_missing_column_is_refused(desk: Workspace) -> None:
    with pytest.raises(TreasuryError, match="amount"):
        desk.cash(flows=[{"date": MONDAY, "currency": "EUR"}])


def test_the_report_has_the_own_flows_and_a_prepared_month_keeps_them(tmp_path: Path) -> None:
    balances = (statement(OPERATING, "500.00", "500.00"), statement(RESERVE, "9.00", "9.00"))
    desk = desk_of(tmp_path / "desk", *balances, floors=("450", ""))
    file = desk.folder / "flows.csv"
    file.write_text("date,account,amount,currency,text\n"
                    f"2026-11-06,{OPERATING},-100.00,EUR,rent of the quay\n", "utf-8")  # fmt: skip

    def shown() -> tuple[str, list[str], list[str]]:
        section = flows_section(desk.periods.month("2026-10").cash, Month.parse("2026-10"))
        expected, by_day, floors = section.grids
        (flow,), (ahead,), (floor,) = expected.rows, by_day.rows, floors.rows
        cells = [cell.text for cell in (*flow, *ahead)]
        return section.lead, cells, [cell.text for cell in floor]

    lead, cells, floor = shown()
    assert lead == "1 flow known, 1 of them our own."
    assert "rent of the quay" in cells
    assert cells[-3:] == ["EUR 0.00", "EUR 100.00", "EUR 409.00"]
    assert floor[-1] == "below"
    desk.periods.prepare("2026-10", actor=Actor("anna", "environment"))
    file.write_text("date,amount,currency\n", "utf-8")
    assert shown() == (lead, cells, floor)
    assert len(desk.journal.entries("flows.saved")) == 1
    assert not desk.cash().flows.where(flow="own_flow").arrow.num_rows
