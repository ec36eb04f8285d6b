"""The commands of the desk: what an analyst does with a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from treasury.cli.layout import echo_folded, terminal_width
from treasury.cli.months import month_argument, months_argument
from treasury.cli.output import (
    as_of_option,
    keep_desk_zone,
    print_options,
    print_rows,
    view_options,
)
from treasury.errors import InputError
from treasury.items import KINDS, TURNS, OpenItems
from treasury.items.item_kinds import OWNERS, Turn
from treasury.workspace import Workspace, find_workspace

if TYPE_CHECKING:
    from treasury.report import Fees

__all__ = ["awaiting_funds", "exceptions", "fees", "reconcile", "sql", "status", "trace"]


def folder_of(context: click.Context) -> Path:
    """The workspace's folder, as the options of this command line say."""
    return Path(context.obj) if context.obj else find_workspace()


def workspace_of(context: click.Context, as_of: str | None = None) -> Workspace:
    """The workspace, or the view of it as known at an instant."""
    workspace = Workspace(folder_of(context))
    keep_desk_zone(context, workspace.settings.zone)
    return workspace.at(as_of) if as_of else workspace


@click.command()
@month_argument
@click.option(
    "--open", "only_open", is_flag=True, help="Only lines that need a person, earlier months' too."
)
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Work it out on Spark: sc://host:15002, spark://host:7077, local[2]; or duckdb.",
)
@click.option(
    "--into", metavar="PLACE", help="The folder or schema for everything that Spark matched."
)
@view_options
def reconcile(
    context: click.Context,
    *,
    month: str | None,
    only_open: bool,
    engine: str | None,
    into: str | None,
    as_of: str | None,
    form: str,
) -> None:
    """Reconcile a month: every bank line with its one outcome and the reason."""
    from treasury.close.result_words import LINES_NOT_KNOWN, are_lines_known, count
    from treasury.items.item_facts import needing_a_person
    from treasury.report import outcome_word, reconciliation_summary

    workspace = workspace_of(context, as_of)
    result = workspace.reconcile(month, engine=engine, into=into)
    lines = result.lines
    if only_open:
        lines = pa.concat_tables(map(needing_a_person, (result.earlier_lines, result.lines)))
    if form == "table":
        echo_folded(reconciliation_summary(result, zone=workspace.settings.zone))
        late = len(workspace.periods.late(result.month)) if workspace.is_closed(result.month) else 0
        if late:
            click.echo(f"LATE        {count(late, 'item')} since the close: treasury periods late")
        words = [outcome_word(row) for row in lines.to_pylist()]
        lines = lines.append_column("on_screen", pa.array(words, pa.string()))
    print_rows(
        lines,
        form,
        columns=LINE_COLUMNS,
        spare=LINE_SPARE,
        title="Bank lines",
        empty="none" if are_lines_known(result) else LINES_NOT_KNOWN,
    )


LINE_COLUMNS = (
    "booking_date", "statement_account", "direction", "amount", "on_screen", "reference", "reason",
    "counterparty_name", "remittance",
)  # fmt: skip
LINE_SPARE = ("remittance", "reason", "counterparty_name", "statement_account", "direction")


@click.command()
@month_argument
@click.option("--turn", type=click.Choice(tuple(TURNS)), help="Only what waits for this side.")
@click.option("--kind", metavar="KIND", help="Only items of one kind.")
@click.option("--blocking", is_flag=True, help="Only what blocks the close.")
@click.option(
    "--sheet",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write them to this workbook (.xlsx) to be decided in; `treasury decide` takes it back.",
)
@view_options
def exceptions(
    context: click.Context,
    *,
    month: str | None,
    turn: Turn | None,
    kind: str | None,
    blocking: bool,
    sheet: Path | None,
    as_of: str | None,
    form: str,
) -> None:
    """List everything that is open in a month: each item once, whose move it is, what to do."""
    from treasury.report.screen import open_words

    if kind is not None and kind not in KINDS:
        raise InputError(f"there is no kind {kind!r:.60}", do=f"give one of {', '.join(KINDS)}")
    workspace = workspace_of(context, as_of)
    items = workspace.open_items(month)
    chosen = items.select(turn=turn, kind=kind)
    chosen = chosen.blocking if blocking else chosen
    if sheet is not None:
        workspace.exceptions_sheet(sheet, chosen)
        click.echo(f"{sheet}: {len(chosen):,} open items of {items.month.title}, to be decided in")
        return
    rows = chosen.arrow
    is_remarked = any(item.remark for item in chosen)
    closed = ", as it was closed" if workspace.is_closed(items.month) else ""
    print_rows(
        items_view(rows, items) if form == "table" else rows,
        form,
        columns=[name for name in ITEM_COLUMNS if is_remarked or name != "remark"],
        spare=ITEM_SPARE,
        title=f"Open items of {items.month.title}{closed}",
        empty=f"none of these; {open_words(items)} in all" if len(items) else open_words(items),
    )
    if closed and form == "table":
        now = items.month.next
        click.echo(f"What is open since: treasury exceptions {now}, treasury periods late")


def items_view(items: pa.Table, among: OpenItems) -> pa.Table:
    """Open items as a person reads them: whose move it is in words, the owner, the age's clock.

    Ids are as short as a verb takes them, and as it takes to tell them from all that is open.
    """
    from treasury.report import count

    rows = items.to_pylist()
    ages = [count(row["age"], row["clock"]) if row["age"] else "new" for row in rows]
    turns = [TURNS[row["turn"]] for row in rows]
    owners = [row["owner"] or OWNERS[row["turn"]] for row in rows]
    # As much of its beginning as none of the others has.
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
"""Characters of an id, after its kind, that are enough where they tell it from the others."""


ITEM_COLUMNS = (
    "turn", "owner", "state", "name", "amount", "since", "age", "next_step", "remark", "item_id",
)  # fmt: skip
ITEM_SPARE = ("owner", "item_id", "remark", "since", "age", "turn")


@click.command("awaiting-funds")
@view_options
def awaiting_funds(context: click.Context, as_of: str | None, form: str) -> None:
    """List requests that wait for their funds, and what to do about each."""
    from treasury.report import funding_totals, funding_view

    workspace = workspace_of(context, as_of)
    rows = workspace.awaiting_funds().arrow
    if form != "table":
        print_rows(rows, form)
        return
    print_rows(
        funding_view(rows, zone=workspace.settings.zone),
        form,
        spare=FUNDING_SPARE,
        title="Requests awaiting funds",
    )
    echo_folded(funding_totals(rows))


FUNDING_SPARE = (
    "request", "approved", "evidence_to", "direction", "to", "seen", "overdue", "due",
)  # fmt: skip


@click.command()
@months_argument
@as_of_option
@click.option("--per-request", is_flag=True, help="One row a request instead of totals.")
@click.option("--by", metavar="NAME[,NAME…]", help="Sums by month, direction, pair, network, …")
@click.option("--trend", is_flag=True, help="Sums of each month and the change to the one before.")
@click.option("--cost", is_flag=True, help="What conversions cost by the reference rates, by pair.")
@click.option("--gas", is_flag=True, help="What company wallets paid for gas, by use and coin.")
@click.option("--calculate", is_flag=True, help="Ask the service's calculator for each fee.")
@click.option(
    "--invoice",
    type=click.Path(exists=True, dir_okay=False),
    help="The provider's invoice, a CSV file: reference, fee, currency, vat. Exits 1 on a gap.",
)
@print_options
def fees(
    context: click.Context,
    *,
    month: str | None,
    as_of: str | None,
    per_request: bool,
    by: str | None,
    trend: bool,
    cost: bool,
    gas: bool,
    calculate: bool,
    invoice: str | None,
    form: str,
) -> None:
    """Report the fees of the requests completed in a month or several."""
    if sum((per_request, by is not None, trend, cost, gas, invoice is not None)) > 1:
        raise InputError(
            "--per-request, --by, --trend, --cost, --gas and --invoice are six answers",
            do="ask for one",
        )
    workspace = workspace_of(context, as_of)
    if invoice is not None:
        tied = workspace.tie_invoice(invoice, month)
        print_rows(tied.lines, form, title=tied.title, empty="nothing on either side")
        if not tied.agrees:
            raise SystemExit(1)
        return
    try:
        result = workspace.fees(month, calculate=calculate)
    finally:
        workspace.close_clients()
    if cost:
        _print_costs(result, form)
    elif gas:
        _print_gas(result, form)
    else:
        names = None if by is None else [name.strip() for name in by.split(",")]
        _print_fees(result, form, per_request=per_request, trend=trend, names=names)


def _print_fees(
    result: Fees, form: str, *, per_request: bool, trend: bool, names: list[str] | None
) -> None:
    """The fees of a month or several, as each request, by month, or summed by what is named."""
    table = result.totals
    if per_request:
        table = result.requests
    elif trend:
        table = result.trend
    elif names is not None:
        table = result.by(*names)
    columns = REQUEST_COLUMNS if per_request else ()
    print_rows(
        table,
        form,
        columns=columns,
        spare=FEE_SPARE,
        title=result.title,
        empty="no request completed",
    )
    if form != "table":
        return
    if result.accruals.num_rows:
        print_rows(result.accruals, form, title="Accruals: funded, not completed at month end")
    if result.to_check.num_rows and not per_request:
        print_rows(result.to_check, form, columns=CHECK_COLUMNS, title="Fees to check")


def _print_costs(fees: Fees, form: str) -> None:
    """What conversions cost by pair and month; as a table also what has no value, and why."""
    costs = fees.costs
    is_mixed = len(set(costs.by_pair["difference_is"].to_pylist()) - {""}) > 1
    print_rows(
        costs.by_pair,
        form,
        columns=(*COST_COLUMNS, *(("difference_is",) if is_mixed else ())),
        spare=COST_SPARE,
        title=f"Conversions of {fees.months.title}: {costs.title}",
        empty="no conversion",
    )
    if form != "table":
        return
    if costs.not_valued:
        print_rows(costs.without_value, form, columns=WITHOUT_VALUE, title="Without a value")
    if costs.rests_on:
        echo_folded(f"Reference rates: {'; '.join(costs.rests_on)}")


def _print_gas(fees: Fees, form: str) -> None:
    """What gas cost by month, use and coin; as a table also that of each request and transfer."""
    gas = fees.gas
    print_rows(
        gas.by_use,
        form,
        title=f"Gas of {fees.months.title}: {gas.title}",
        empty="no gas is known: `treasury wallets add` reads an explorer's list of transactions",
    )
    if form != "table":
        return
    if gas.each.num_rows:
        print_rows(gas.each, form, columns=GAS_COLUMNS, spare=GAS_SPARE, title="Each transaction")
    if gas.rests_on:
        echo_folded(f"Reference rates: {'; '.join(gas.rests_on)}")


GAS_COLUMNS = (
    "paid_on", "used_for", "reference", "chain", "wallet", "failed", "gas", "gas_value",
    "not_valued", "coin", "value_currency",
)  # fmt: skip
GAS_SPARE = ("coin", "value_currency", "wallet", "chain", "failed")
COST_COLUMNS = (
    "month", "pair", "conversions", "given_value", "stated_fee", "reference_difference",
    "reference_difference_bp", "lowest_bp", "highest_bp", "cost", "not_valued",
)  # fmt: skip
COST_SPARE = ("given_value", "cost", "lowest_bp", "highest_bp", "month")
WITHOUT_VALUE = ("converted_on", "source", "reference", "pair", "not_valued")
REQUEST_COLUMNS = (
    "reference", "completed_on", "pair", "chain", "bank_account", "fiat_gross", "fee", "fiat_net",
    "crypto", "exchange_rate", "rate_deviation_bp", "rate_bp", "tier", "expected_fee", "finding",
)  # fmt: skip
"""What a person reads of each request; the other forms have all columns."""
FEE_SPARE = (
    "rate_deviation_bp", "exchange_rate", "bank_account", "chain", "rate_bp", "tier",
    "expected_fee", "crypto", "fiat_net", "completed_on", "pair",
)  # fmt: skip
CHECK_COLUMNS = (
    "reference", "completed_on", "fiat_gross", "fee", "expected_fee", "expected_by", "finding",
)  # fmt: skip


@click.command()
@month_argument
@view_options
def status(context: click.Context, month: str | None, as_of: str | None, form: str) -> None:
    """Show the first screen: what is proved, what is open."""
    workspace = workspace_of(context, as_of)
    if form != "table":
        print_rows(workspace.facts(month).arrow, form)
        return
    echo_folded(workspace.status(month, width=terminal_width()))
    watching = None if as_of else workspace.watching()
    if watching:
        echo_folded(f"SYNC        {watching}")


@click.command()
@click.argument("query")
@view_options
def sql(context: click.Context, query: str, as_of: str | None, form: str) -> None:
    """Run QUERY, one SELECT, over the tables of the lake."""
    rows: Any = workspace_of(context, as_of).sql(query)
    print_rows(rows.arrow, form, empty="no rows", as_stored=True)


@click.command()
@click.argument("what")
@as_of_option
@click.option("--provider", is_flag=True, help="Print a message to send to the provider instead.")
@print_options
def trace(context: click.Context, what: str, as_of: str | None, provider: bool, form: str) -> None:
    """Follow one payment from end to end: each hop with its evidence, or what is missing.

    WHAT is a reference, an IBAN, an amount, a transaction hash, or an id or its beginning.
    """
    payment = workspace_of(context, as_of).trace(what)
    if provider and form != "table":
        raise click.UsageError("--provider prints a message, and takes no --format")
    if provider and not payment.hops:
        raise InputError(f"{payment.asked!r} stands for several payments", do="name one by its id")
    if provider:
        click.echo(payment.provider_text(), nl=False)
    elif form == "table":
        echo_folded(str(payment))
    else:
        print_rows(payment.to_arrow(), form)
