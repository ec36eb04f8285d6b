"""The transfers panel: movements between accounts, with both legs; proposals of new transfers.

The first list has all transfers at the service, of all three kinds. The second list has transfers
between our own accounts with their two legs, from the reconciliation. It is computed in the
background when it is first shown, because that reads the whole month. A new transfer is only
proposed here; it is approved and carried out in the approvals panel.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Final, Literal

import pyarrow as pa

from treasury.actions import OPEN, Confirmation, field_names, kind_of
from treasury.core.errors import NothingStored, TreasuryError
from treasury.core.files.package_files import step_sql
from treasury.core.money import format_amount
from treasury.lake import Snapshot
from treasury.month.internal import INTERNAL_TRANSFERS
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Button,
    Heading,
    InputField,
    LineStyle,
    ListRow,
    Message,
    StepBlock,
    Text,
    cell,
    confirm_buttons,
    detail,
)
from treasury.panels.frames.list_panel import Listing, PendingDecision, view_buttons
from treasury.panels.frames.panel import Press, Presses, alert, status
from treasury.panels.frames.panel_text import day, instant
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.frames.traced_list import LookingPanel, answer_now
from treasury.panels.panel_workspace import PanelWorkspace

_ListName = Literal["transfers", "legs", "accounts"]
_KINDS: Final = {
    "crypto": "crypto_transfer.create",
    "fiat": "fiat_transfer.create",
    "internal": "account_transfer.create",
}
_NOTHING: Final = "Nothing was proposed and nothing was sent."
_TRANSFERS: Final = step_sql("treasury.panels.queries", "all_transfers")
_ACCOUNTS: Final = step_sql("treasury.panels.queries", "account_holdings")


class _PendingTransfer(PendingDecision, frozen=True, kw_only=True):
    """A transfer to propose."""

    confirmed: Confirmation

    def step(self, _: datetime) -> StepBlock:
        """Return the step: the transfer, its proposer, and the required approvals."""
        confirmed, more = self.confirmed, self.confirmed.needed - 1
        who = f"{more} more person" if more == 1 else f"{more} more people"
        needs = f"Then {who} must approve it" if more > 0 else "No second person approves it"
        return StepBlock(
            key=self.nonce,
            title=f"Propose {confirmed.money}?",
            text=confirmed.text,
            notes=(Text(f"{needs}. Nothing is sent yet.", "warn"),),
            facts=(
                *(detail(fact.name, Text(fact.value)) for fact in confirmed.facts),
                detail("Proposed by", Text(confirmed.actor.name, "strong")),
                detail("Credential", Text(f"{confirmed.credential} ({confirmed.client_id})")),
                detail("When", Text(instant(confirmed.at))),
            ),
            buttons=confirm_buttons("Confirm proposal"),
        )


class TransfersPanel(LookingPanel):
    """The panel of transfers; `rows`, `sql` and `relation` give the shown list to programs."""

    title: ClassVar[str] = "Transfers"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        # In a view at an earlier instant, this raises InputError before any button is pressed.
        self._actions = desk.actions
        self._list_name: _ListName = "transfers"
        self._waiting = 0
        super().__init__(desk, size=size)

    def summary(self) -> str:
        """Return the number of transfers."""
        return f"{self._tables['transfers'].num_rows} transfers"

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """Return the transfers, the accounts with their balances and, if requested, the legs."""
        self._waiting = self._count_waiting()
        legs = {"legs": _legs(self._desk)} if "legs" in self._tables else {}
        transfers, accounts = snapshot.sql(_TRANSFERS), snapshot.sql(_ACCOUNTS)
        return {"transfers": transfers, "accounts": accounts, **legs}

    def names(self, row: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the ids of the service's record, or of a bank line."""
        return (row.get("transfer_id") or row.get("id"), row.get("out_id"), row.get("in_id"))

    # Display: the list, its notes, buttons and fields.

    def listing(self) -> Listing:
        """Return the transfers, the legs or the accounts."""
        return _LISTINGS[self._list_name]

    def tools(self) -> tuple[Button, ...]:
        """Return a button for each of the three kinds of new transfer."""
        labels = {name: f"New {kind.partition('_')[0]} transfer…" for name, kind in _KINDS.items()}
        return tuple(
            Button(name, label, pressed=self._form == name or None)
            for name, label in labels.items()
        )

    def views(self) -> tuple[Button, ...]:
        """Return a button for each list."""
        legs = self._tables.get("legs")
        labels = {
            "transfers": f"Transfers ({self._tables['transfers'].num_rows:,})",
            "legs": "Between our accounts" + ("" if legs is None else f" ({legs.num_rows:,})"),
            "accounts": "Accounts",
        }
        return view_buttons(labels, self._list_name)

    def more_notes(self) -> tuple[Text, ...]:
        """Return a note on transfers that are proposed and not carried out yet."""
        number = self._waiting
        if not number:
            return ()
        transfers = "1 transfer is" if number == 1 else f"{number:,} transfers are"
        return (
            Text(f"{transfers} proposed and not sent: decide under t.panels.approvals()", "warn"),
        )

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons to trace a transfer, or to check or close a form."""
        if self._form:
            return (Button("check", "Check…", "primary"), Button("leave", "Close form"))
        return () if self._list_name == "accounts" else super().bar()

    def fields(self) -> tuple[InputField, ...]:
        """Return the fields of the open form."""
        if not self._form:
            return ()
        needed = field_names(kind_of(_KINDS[self._form]).fields)
        hints = {name: _HINTS.get(name, "" if needed[name] else "Optional") for name in needed}
        hints["reason"] = "Kept in our journal"
        return tuple(
            InputField(name, name.replace("_", " ").capitalize(), hint)
            for name, hint in hints.items()
        )

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers of the lists, of the forms, and of the trace."""
        lists: tuple[_ListName, ...] = ("transfers", "accounts")
        return (
            super().presses()
            | {name: partial(self._show_list, name) for name in lists}
            | {name: partial(self._open, name) for name in _KINDS}
            | {"legs": self._find_legs, "leave": partial(self._open, ""), "check": self._check}
        )

    def _find_legs(self, press: Press) -> None:
        if "legs" in self._tables:
            self._show_list("legs", press)
            return

        def task(_: Work) -> None:
            legs = _legs(self._desk)
            with self.turn:
                self._tables = {**self._tables, "legs": legs}
                self.refresh()
                self._show_list("legs", press)

        def failed(error: TreasuryError) -> Message:
            return alert("The two legs are unknown", error, Text("Nothing was changed."))

        self.start("Looking for both legs", task, failed, "The display is unchanged.")

    def _show_list(self, list_name: _ListName, _: Press) -> None:
        self._list_name = list_name
        self.drop_filters()
        self._chosen.clear()
        self.show_page(0)

    def _open(self, form: str, press: Press) -> None:
        self._form = form
        self.tell(None)
        self._show_list("accounts" if form else "transfers", press)

    def _check(self, press: Press) -> None:
        if not self._form:
            return
        kind, form = _KINDS[self._form], kind_of(_KINDS[self._form]).fields
        typed: dict[str, Any] = {name: press.text(name) for name in field_names(form)}
        reason = press.text("reason") or None

        def task(work: Work) -> None:
            work.say("Checking the transfer")
            confirmed = self._actions.draft(kind, reason=reason, **typed)
            work.check()
            self.ask(_PendingTransfer(confirmed=confirmed))

        self.start("Checking the transfer", task, "Not proposed", _NOTHING)

    def confirm(self, pending: _PendingTransfer, _: Press) -> None:
        """Propose the transfer; nothing is sent."""

        def task(work: Work) -> Message:
            work.pass_the_point("Writing it to the journal")
            (action,) = self._actions.propose_drafts(pending.confirmed, nonce=pending.nonce)
            self._waiting = self._count_waiting()
            self._end(form="")
            waits = action.state == "proposed"
            after = "a colleague approves it" if waits else "carry it out"
            return status(
                f"{action.id} is {action.state}; nothing is sent yet",
                Text(action.text),
                Text(f"Next: {after} under t.panels.approvals()", "strong"),
            )

        def failed(error: TreasuryError) -> Message:
            self._end(form=self._form)
            return alert("Not proposed", error, Text("Nothing was sent."))

        self.start("Writing it to the journal", task, failed, _NOTHING)

    def _end(self, *, form: str) -> None:
        with self.turn:
            self._pending, self._form = None, form
            self._list_name = "accounts" if form else "transfers"
            self.show_page(0)

    def _count_waiting(self) -> int:
        kinds = frozenset(_KINDS.values())
        return sum(action.kind in kinds and action.state in OPEN for action in self._actions.list())


def _legs(desk: PanelWorkspace) -> pa.Table:
    """Return the two legs with row numbers; empty if no month can be reconciled."""
    try:
        legs = answer_now(desk).internal_transfers.arrow
    except NothingStored:
        legs = INTERNAL_TRANSFERS.empty_table()
    numbers = [str(number) for number in range(legs.num_rows)]
    return legs.append_column("number", pa.array(numbers, pa.string()))


_HINTS: Final = {
    "amount": "Such as 100.00",
    "chain": "Such as BASE",
    "asset": "Such as USDC",
    "cryptocurrency": "Such as USDC",
    "currency": "Such as EUR",
}


# Conversion of records to rows of the list.


def _money(row: Mapping[str, Any], amount: str, unit: str) -> str:
    return "" if row[amount] is None else format_amount(row[amount], row[unit] or "?")


def _party(name: str | None, account_id: str | None) -> tuple[Text, ...]:
    if account_id is None:
        return (Text("outside the service", "quiet"),)
    return (Text(name or "no name"), Text(account_id, "code"))


def _transfer_row(row: Mapping[str, Any]) -> ListRow:
    coins, fiat = _money(row, "amount", "asset"), _money(row, "fiat_amount", "fiat_currency")
    amount = coins or fiat or "not stated"
    kind = row["kind"].replace("_", " ")
    failed = row["status"] == "FAILED"
    completed = row["status"] == "COMPLETED"
    why = " ".join(filter(None, (row["failure_code"], row["failure_reason"]))) if failed else ""
    style: LineStyle = "warn" if failed else "good" if completed else "plain"
    return ListRow(
        label=f"{kind} transfer, {amount}, {row['status']}",
        cells=(
            cell(
                Text(kind, "strong"),
                Text(row["id"], "code"),
                row["merchant_reference"] and Text(row["merchant_reference"]),
                row["description"] and Text(row["description"]),
                Text(instant(row["created_at"] or row["first_seen_at"]), "quiet"),
            ),
            cell(Text(amount), Text(fiat, "quiet") if coins and fiat else None),
            _party(row["sender"], row["sender_account_id"]),
            _party(row["receiver"], row["receiver_account_id"]),
            cell(
                Text(row["status"] or "no status", style),
                Text(why) if why else None,
                row["transaction_hash"] and Text(row["transaction_hash"], "code"),
            ),
        ),
    )


def _leg_row(row: Mapping[str, Any]) -> ListRow:
    amount, state = _money(row, "amount", "currency"), row["state"].replace("_", " ")
    fine = row["state"] in {"both_legs", "not_ours"} or row["stage"] == "expected"
    return ListRow(
        label=f"{amount}, {row['sent_from']} to {row['received_by']}, {state}",
        cells=(
            (Text(amount, "strong"), Text(row["kind"], "quiet")),
            (Text(row["sent_from"]), Text(f"out {day(row['out_on'], 'not seen')}", "quiet")),
            (Text(row["received_by"]), Text(f"in {day(row['in_on'], 'not seen')}", "quiet")),
            cell(
                Text(state, "plain" if fine else "warn"),
                Text(row["evidence"], "quiet"),
                row["next_step"] and Text(row["next_step"], "strong"),
            ),
        ),
    )


def _account_row(row: Mapping[str, Any]) -> ListRow:
    balance = _money(row, "total", "asset") or "nothing seen"
    free = _money(row, "available", "asset")
    name = row["name"] or row["external_id"] or row["id"]
    ours = row["external_id"]
    return ListRow(
        label=f"{name}, {balance}",
        cells=(
            cell(
                Text(name, "strong"),
                Text(row["id"], "code", copy=f"account id of {name}"),
                ours and Text(ours, "code", copy=f"our id of {name}"),
            ),
            cell(Text(balance), Text(f"available {free}", "quiet") if free else None),
            (Text(row["chain"] or "no chain"),),
            (Text(row["status"] or "no status"), Text(row["kyc_status"] or "", "quiet")),
        ),
        may_choose=False,
    )


_LISTINGS: Final[dict[_ListName, Listing]] = {
    "transfers": Listing(
        caption="Transfers of all three kinds",
        query="SELECT * FROM transfers",
        order="is_open DESC, coalesce(created_at, first_seen_at) DESC, id",
        key="id",
        searched=(
            "id", "kind", "status", "sender", "receiver", "sender_account_id",
            "receiver_account_id", "asset", "amount", "fiat_amount", "description",
            "merchant_reference", "idempotency_key", "transaction_hash", "failure_reason",
        ),
        hint="Id, account, reference, amount or hash",
        columns=(
            Heading("Transfer"), Heading("Amount", end=True), Heading("From"), Heading("To"),
            Heading("Status"),
        ),
        row=_transfer_row,
        empty="There is no transfer.",
    ),
    "legs": Listing(
        caption="Transfers between our own accounts, with both legs",
        query="SELECT * FROM legs",
        order="state = 'both_legs', coalesce(out_on, in_on) DESC, number",
        key="number",
        searched=("state", "kind", "amount", "currency", "sent_from", "received_by", "evidence",
                  "transfer_id", "out_id", "in_id"),
        hint="Account, amount, state or id",
        columns=(Heading("Amount"), Heading("Leg out"), Heading("Leg in"),
                 Heading("State", wide=True)),
        row=_leg_row,
        empty="No transfer between our own accounts this month.",
    ),
    "accounts": Listing(
        caption="Accounts of the service and their balances",
        query="SELECT * FROM accounts",
        order="name, id, asset",
        key="place",
        searched=("id", "external_id", "name", "asset"),
        hint="Name, id or asset",
        columns=(
            Heading("Account"), Heading("Holds", end=True), Heading("Chain"), Heading("Status"),
        ),
        row=_account_row,
        empty="There is no account.",
    ),
}  # fmt: skip
