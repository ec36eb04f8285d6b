"""Analyst commands: reconcile, list open items, trace, report fees, forecast cash, query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from treasury.cli.command_view import (
    CommandView,
    item_filters,
    month_argument,
    months_argument,
    print_options,
    view_options,
)
from treasury.cli.layout import echo_folded
from treasury.cli.output import Choice, as_of_option
from treasury.core.errors import InputError
from treasury.core.text import clean
from treasury.month.items import TURNS, OpenItems
from treasury.month.items.item_kinds import Turn

if TYPE_CHECKING:
    from treasury.report import Fees


@click.command()
@month_argument
@click.option(
    "--open",
    "only_open",
    is_flag=True,
    help="Show only lines that need a person, including those of earlier months.",
)
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Compute on Spark: sc://host:15002, spark://host:7077, local[2]; or duckdb.",
)
@click.option(
    "--into", metavar="PLACE", help="Folder or schema for all of Spark's matching results."
)
@view_options
def reconcile(
    view: CommandView, month: str | None, only_open: bool, engine: str | None, into: str | None
) -> None:
    """Reconcile a month: every bank line with its one outcome and the reason."""
    from treasury.close.result_words import LINES_NOT_KNOWN, are_lines_known, count
    from treasury.month.items.item_facts import needing_a_person
    from treasury.report import outcome_word, reconciliation_summary

    workspace = view.workspace
    result = workspace.reconcile(month, engine=engine, into=into)
    lines = result.lines.arrow
    if only_open:
        lines = pa.concat_tables(map(needing_a_person, (result.earlier_lines.arrow, lines)))
    if view.is_table:
        echo_folded(reconciliation_summary(result, zone=workspace.settings.zone))
        late = len(workspace.periods.late(result.month)) if workspace.is_closed(result.month) else 0
        if late:
            echo_folded(f"LATE        {count(late, 'item')} since the close: treasury periods late")
        words = [outcome_word(row) for row in lines.to_pylist()]
        lines = lines.append_column("on_screen", pa.array(words, pa.string()))
    view.rows(
        lines,
        layout="bank_lines",
        title="Bank lines",
        empty="none" if are_lines_known(result) else LINES_NOT_KNOWN,
    )


@click.command()
@month_argument
@click.option("--turn", type=Choice(tuple(TURNS)), help="Show only items waiting for this side.")
@click.option("--kind", help="Show only items of this kind, by its word on screen or its name.")
@click.option("--blocking", is_flag=True, help="Show only items that block the close.")
@item_filters
@click.option(
    "--sheet",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the items to this workbook (.xlsx) for decisions, which `treasury decide` reads.",
)
@view_options
def exceptions(
    view: CommandView,
    month: str | None,
    *,
    turn: Turn | None,
    kind: str | None,
    blocking: bool,
    sheet: Path | None,
    **filters: Any,
) -> None:
    """List everything open in a month: each item once, who acts next, what to do."""
    workspace = view.workspace
    items = workspace.open_items(month)
    chosen = items.select(turn=turn, kind=kind, **filters)
    view.notes(chosen.notes)
    chosen = chosen.blocking if blocking else chosen
    if sheet is not None:
        workspace.exceptions_sheet(sheet, chosen)
        echo_folded(
            f"{sheet}: {len(chosen):,} open items of {items.month.title}, ready for decisions"
        )
        return
    closed = ", as it was closed" if workspace.is_closed(items.month) else ""
    _print_items(view, chosen, among=items, title=f"Open items of {items.month.title}{closed}")
    if closed and view.is_table:
        now = items.month.next
        echo_folded(f"For open items since then: treasury exceptions {now}, treasury periods late")


def _print_items(view: CommandView, chosen: OpenItems, *, among: OpenItems, title: str) -> None:
    """Print open items; `among` are all items of the answer that they were chosen from."""
    from treasury.report.screens.month_status import open_words

    is_remarked = any(item.remark for item in chosen)
    view.rows(
        items_view(chosen.arrow, among) if view.is_table else chosen.arrow,
        layout="open_items",
        without=() if is_remarked else ("remark",),
        title=title,
        empty=f"none of these; {open_words(among)} in all" if len(among) else open_words(among),
    )


def items_view(items: pa.Table, among: OpenItems) -> pa.Table:
    """Return open items for display, with codes, owners and ages in words.

    Each id is shortened to a prefix that no other open item has.
    """
    from treasury.report import count

    rows = items.to_pylist()
    ages = [count(row["age"], row["clock"]) if row["age"] else "new" for row in rows]
    turns = [TURNS[row["turn"]] for row in rows]
    owners = [among.by_id[row["item_id"]].shown_owner for row in rows]
    # This is the shortest prefix that no other id has.
    length, names = _SHORT, list(among.by_id)
    while len({name[: name.find(":") + 1 + length] for name in names}) < len(names):
        length += 1
    ids = [row["item_id"][: row["item_id"].find(":") + 1 + length] for row in rows]
    for name, texts in (
        ("turn", turns), ("owner", owners), ("age", ages), ("item_id", ids),
    ):  # fmt: skip
        place = items.column_names.index(name)
        items = items.set_column(place, name, pa.array(texts, pa.string()))
    return items


_SHORT = 8
"""Minimum length of an id's prefix after the kind of item."""


@click.command("awaiting-funds")
@view_options
def awaiting_funds(view: CommandView) -> None:
    """List requests that wait for funds, and what to do about each."""
    from treasury.report import funding_totals, funding_view

    workspace = view.workspace
    rows = workspace.awaiting_funds().arrow
    if not view.is_table:
        view.rows(rows)
        return
    view.rows(
        funding_view(rows, zone=workspace.settings.zone),
        layout="awaiting_funds",
        title="Requests awaiting funds",
    )
    for row in rows.select(["reference", "differs"]).to_pylist():
        if row["differs"]:
            echo_folded(clean(f"CHANGED {row['reference']}: {row['differs']}"))
    echo_folded(funding_totals(rows))


@click.command()
@months_argument
@as_of_option
@click.option("--per-request", is_flag=True, help="Show one row per request instead of totals.")
@click.option("--by", metavar="NAME[,NAME…]", help="Sums by month, ramp_type, pair, network, …")
@click.option(
    "--trend", is_flag=True, help="Show each month's sums and the change from the month before."
)
@click.option("--cost", is_flag=True, help="Show conversion costs by the reference rates, by pair.")
@click.option("--gas", is_flag=True, help="Show gas paid by company wallets, by use and coin.")
@click.option("--calculate", is_flag=True, help="Ask the service's calculator for each fee.")
@click.option(
    "--invoice",
    type=click.Path(exists=True, dir_okay=False),
    help="The provider's invoice as CSV: reference, fee, currency, vat. Exits 1 if it differs.",
)
@print_options
def fees(
    view: CommandView, month: str | None, *, calculate: bool, invoice: str | None, **answer: Any
) -> None:
    """Report the fees of the requests completed in a month or several."""
    if sum(wish not in (None, False) for wish in (*answer.values(), invoice)) > 1:
        raise InputError(
            "--per-request, --by, --trend, --cost, --gas and --invoice give six different answers",
            do="give one",
        )
    workspace = view.workspace
    if invoice is not None:
        tied = workspace.tie_invoice(invoice, month)
        view.rows(tied.lines.arrow, title=tied.title, empty="no rows on either side")
        if not tied.agrees:
            raise SystemExit(1)
        return
    try:
        result = workspace.fees(month, calculate=calculate)
    finally:
        workspace.close_clients()
    if answer["cost"]:
        _print_costs(view, result)
    elif answer["gas"]:
        _print_gas(view, result)
    else:
        _print_fees(view, result, **answer)


def _print_fees(
    view: CommandView, result: Fees, *, per_request: bool, trend: bool, by: str | None, **_: object
) -> None:
    """Print the fees by request, by month, or summed by the given columns."""
    table = result.totals
    if per_request:
        table = result.requests
    elif trend:
        table = result.trend
    elif by is not None:
        table = result.by(*(name.strip() for name in by.split(",")))
    layout, rows = "fee_requests" if per_request else "fees", table.arrow
    if not per_request:
        names = {"direction": "ramp_type"}
        rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    view.rows(rows, layout=layout, title=result.title, empty="no request completed")
    if view.is_table and len(result.accruals):
        view.rows(result.accruals.arrow, title="Accruals: funded, not completed at month end")
    if view.is_table and len(result.to_check) and not per_request:
        view.rows(result.to_check.arrow, layout="fees_to_check", title="Fees to check")


def _print_costs(view: CommandView, fees: Fees) -> None:
    """Print conversion costs by pair and month; for people also the conversions without a value."""
    costs = fees.costs
    is_mixed = len(set(costs.by_pair.arrow["difference_is"].to_pylist()) - {""}) > 1
    view.rows(
        costs.by_pair.arrow,
        layout="conversion_costs",
        without=() if is_mixed else ("difference_is",),
        title=f"Conversions of {fees.months.title}: {costs.title}",
        empty="no conversion",
    )
    if not view.is_table:
        return
    if costs.not_valued:
        view.rows(costs.without_value.arrow, layout="without_value", title="Without a value")
    if costs.rests_on:
        echo_folded(f"Reference rates: {'; '.join(costs.rests_on)}")


def _print_gas(view: CommandView, fees: Fees) -> None:
    """Print gas costs by month, use and coin; for people also by request and transfer."""
    gas = fees.gas
    view.rows(
        gas.by_use.arrow,
        title=f"Gas of {fees.months.title}: {gas.title}",
        empty="no gas is known: `treasury wallets add` reads an explorer's list of transactions",
    )
    if not view.is_table:
        return
    if len(gas.each):
        view.rows(gas.each.arrow, layout="gas_payments", title="Each transaction")
    if gas.rests_on:
        echo_folded(f"Reference rates: {'; '.join(gas.rests_on)}")


@click.command()
@click.argument("words", metavar="[YYYY-MM] [ROW]", nargs=-1)
@click.option("--month", metavar="YYYY-MM", help="The month; default: what is open now.")
@view_options
def status(view: CommandView, words: tuple[str, ...], month: str | None) -> None:
    """Show what is open now or, with a month, the state of that month.

    ROW lists the open items that a row of the screen counts: pay, send, decide, fix, prove, other,
    provider, bank, colleague, time or waiting; for a month, a kind of item that blocks its close.
    """
    months = {*filter(None, [month]), *(word for word in words if word[:1].isdigit())}
    rows = [word for word in words if not word[:1].isdigit()]
    if len(months) > 1 or len(rows) > 1:
        raise click.UsageError("give at most one month and one row")
    month, workspace = next(iter(months), None), view.workspace
    for row in rows:
        items = workspace.status(month).listed(row)
        _print_items(view, items, among=items, title=f"{len(items):,} open items: {row}")
    if rows:
        return
    if not view.is_table:
        view.rows(workspace.facts(month).arrow)
        return
    echo_folded(workspace.status(month))
    watching = None if view.as_of else workspace.watching()
    if watching:
        echo_folded(f"SYNC         {watching}")


@click.command()
@click.argument("query")
@view_options
def sql(view: CommandView, query: str) -> None:
    """Run QUERY, one SELECT, over the stored tables and the last ended month's results."""
    rows: Any = view.workspace.sql(query)
    view.rows(rows.arrow, empty="no rows", as_stored=True)
    for note in rows.notes:
        click.echo(clean(note), err=True)


@click.command()
@click.argument("what")
@as_of_option
@click.option("--provider", is_flag=True, help="Print a message to send to the provider instead.")
@print_options
def trace(view: CommandView, what: str, provider: bool) -> None:
    """Follow one payment from end to end: each hop with its evidence, or what is missing.

    WHAT is a reference, an IBAN, an amount, a transaction hash, or an id or its beginning.
    """
    payment = view.workspace.trace(what)
    if provider and not view.is_table:
        raise click.UsageError("--provider prints a message, and takes no --format")
    if provider and not payment.hops:
        raise InputError(f"{payment.asked!r} matches several payments", do="name one by its id")
    if provider:
        click.echo(payment.provider_text(), nl=False)
    elif view.is_table:
        echo_folded(str(payment))
    else:
        view.rows(payment.arrow)


@click.command()
@click.argument("entry")
@click.option("--month", metavar="YYYY-MM", help="The month in which the line is booked.")
@click.option("--step", metavar="NAME", help="Show the rows of this step of matching instead.")
@view_options
def explain(view: CommandView, entry: str, month: str | None, step: str | None) -> None:
    """Show why a bank line was matched or not: its text, readings, questions and candidates.

    ENTRY is the id of a bank line, or the beginning of the id, as in `treasury reconcile`.
    """
    if step is None:
        view.report(view.workspace.explain(entry, month=month))
    else:
        view.rows(view.workspace.step_rows(entry, step, month=month).arrow, as_stored=True)


@click.command()
@click.option(
    "--days", type=int, default=14, show_default=True, help="Calendar days, today included."
)
@click.option("--in", "currency", metavar="CURRENCY", help="Value the totals in this currency.")
@click.option(
    "--flows",
    "file",
    metavar="FILE",
    help="The company's own flows: date, amount, currency, account, text, every. Default:"
    " flows.csv in the workspace.",
)
@click.option("--position", "table", flag_value="position", help="Show each account's balance.")
@click.option("--expected", "table", flag_value="expected", help="Show each flow with its day.")
@click.option("--apart", "table", flag_value="apart", help="Show the flows that are in no sum.")
@click.option("--floors", "table", flag_value="floors", help="Show the accounts with a floor.")
@view_options
def cash(
    view: CommandView, days: int, currency: str | None, file: str | None, table: str | None
) -> None:
    """Show the cash of every account now, and the forecast of the next days.

    The forecast has what is known, and nothing is modelled: requests to fund, payments with the
    bank, payouts and deliveries by their clock, own transfers, and the company's own flows.
    """
    from treasury.close.cash.forecast import BY_WEEK_FROM

    answer = view.workspace.cash(days, in_currency=currency, flows=file)
    match table:
        case "position":
            view.rows(answer.position.arrow, layout="cash_position", title=answer.title)
        case "expected":
            view.rows(answer.expected.arrow, layout="cash_flows", title="Flows by day")
        case "apart":
            view.rows(answer.apart.arrow, layout="cash_flows", title="Flows in no sum")
        case "floors":
            view.rows(answer.floors.arrow, layout="cash_floors", title="Floors of accounts")
        case _:
            without = () if len(answer.values) else ("value", "rate_day", "valued_by")
            view.rows(answer.funds.arrow, layout="cash_funds", title=answer.title, without=without)
    if table is None and view.is_table:
        moving = answer.forecast.where("flows > 0 OR is_lowest").arrow
        is_daily = answer.days < BY_WEEK_FROM
        click.echo()
        view.rows(
            moving,
            layout="cash_forecast",
            without=("last_day", "lowest") if is_daily else (),
            title=f"{'Days' if is_daily else 'Weeks'} with flows, and the lowest",
            empty="no account and no flow",
        )
        if len(answer.floors):
            click.echo()
            view.rows(answer.floors.arrow, layout="cash_floors", title="Floors of accounts")
    view.notes(answer.notes)
