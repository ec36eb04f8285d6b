"""Funding: what must be paid where, with which reference, only once it is approved.

Each detail that a bank's form asks for has its Copy. What is chosen leaves as a payment file after
the service was asked once more whether all of it still stands; an off-ramp's transaction hash is
submitted here. A remark that something was sent stands apart from what the bank shows.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from treasury.actions import KINDS
from treasury.actions.payment_orders import CreditTransfer, Payer, message_id, pain001
from treasury.calendar import is_target_day, next_target_day
from treasury.errors import ActionRefused, InputError, NothingStored, TreasuryError
from treasury.extract.ramp_tables import RAMP_REQUESTS, ReceivedRequest
from treasury.extract.record_rows import rows
from treasury.identifiers import is_iban, plain_account
from treasury.lake import Snapshot
from treasury.money import format_amount
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Button,
    Heading,
    InputField,
    ListRow,
    Message,
    Press,
    StepBlock,
    Text,
    confirm_buttons,
    detail,
)
from treasury.panels.frames.list_panel import Listing, ListPanel
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant, literal_text
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource
from treasury.panels.panel_desk import PanelDesk
from treasury.panels.payable_requests import changed_details, payable_table
from treasury.panels.steps.action_steps import PendingRequests, decide, sending_state
from treasury.panels.steps.filed_payments import note_file
from treasury.panels.steps.payee_steps import PendingPayee, ask_payee, payee_step
from treasury.panels.steps.proposed_actions import batch_message
from treasury.reconcile.funding import FUNDING, IN_FILE, REJECTED, WITH_THE_BANK
from treasury.text import visible

__all__ = ["FundingPanel"]

SUBMIT: Final = "ramp_request.submit_hash"
COLUMNS: Final = (
    Heading("Request"),
    Heading("Pay to", wide=True),
    Heading("Amount", end=True),
    Heading("State", wide=True),
)
_COPIED: Final = {
    "deposit_beneficiary": "beneficiary",
    "deposit_iban": "IBAN",
    "deposit_bic": "BIC",
    "deposit_bank_name": "",
    "deposit_account_number": "account number",
    "deposit_sort_code": "sort code",
    "deposit_routing_number": "routing number",
    "deposit_intermediary_bank_name": "",
    "deposit_intermediary_bic": "intermediary BIC",
    "deposit_intermediary_account_number": "intermediary account",
    "deposit_wallet_address": "address",
}
"""What each detail's Copy is called; a bank's name is typed nowhere."""
_LOUD: Final = {
    "PAY": "strong",
    "SEND CRYPTO": "strong",
    "SENT": "good",
    "HASH GIVEN": "good",
    "HASH PROPOSED": "good",
}
NAMED_CHANGES: Final = 5
"""So many requests whose details differ are named at the head; each says so in its row."""
_REMARKS: Final = {
    "sent": ("marked_sent", "Marked as sent"),
    "not_funded": ("will_not_fund", "Marked as not to be funded"),
    "not_uploaded": ("not_uploaded", "Taken out of its payment file"),
    "undo": ("undo", "Remark taken back"),
}
"""Each remark's button: the verb of `t.funding`, and what is said when it is made."""
_DIFFERING: Final = """\
SELECT reference, differs, count(*) OVER () AS in_all FROM funding WHERE differs <> ''
ORDER BY number LIMIT ?
"""
_ANSWERED: Final = """\
SELECT DISTINCT upper(trim(unnest([original_message_id, original_batch_id]))) AS id
FROM payment_statuses WHERE vanished_at IS NULL
"""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Payments to confirm as a file; `nonce` is good for one answer."""

    nonce: str
    payer: Payer
    transfers: tuple[CreditTransfer, ...]
    requests: tuple[str, ...]
    execution: date
    rejected: Mapping[str, int] = {}
    """By request, the place in the journal of the file before, which the bank has rejected."""


class FundingPanel(ListPanel):
    """What waits for its funds; `rows` and `sql` are what it shows, for SQL."""

    title: ClassVar[str] = "Funding"

    def __init__(self, desk: PanelDesk, *, size: int = SIZE) -> None:
        self._actions = desk.actions  # refuses here, and not at a press, where one may not act
        self._changed: tuple[tuple[str, str], ...] = ()
        self._more_changed = 0
        self._unknown = ""
        super().__init__(desk, size=size)

    def __repr__(self) -> str:
        return f"<funding panel: {self._page.total} requests>"

    # What is on screen

    def listing(self) -> Listing:
        """What waits for its funds, most overdue first."""
        return Listing(
            caption="Ramp requests that wait for their funds",
            query="SELECT * FROM funding",
            order="number",
            key="request",
            searched=("reference", "request", "state", '"to"', "to_account", "currency", "send"),
            hint="Reference, state, account or amount",
            columns=COLUMNS,
            row=_row,
            empty=self._unknown or "Nothing waits for its funds.",
            several=True,
        )

    def read(self, snapshot: Snapshot) -> QuerySource:
        """The desk's rows with the deposit details as delivered."""
        try:
            waiting = self._desk.awaiting_funds().to_arrow()
        except NothingStored as unknown:
            waiting, self._unknown = FUNDING.empty_table(), str(unknown)
        else:
            self._unknown = ""
        table = payable_table(waiting, snapshot)
        source = ArrowTables(funding=table)
        first = source.sql(_DIFFERING, [NAMED_CHANGES]).to_pylist()
        self._changed = tuple((row["reference"], row["differs"]) for row in first)
        self._more_changed = first[0]["in_all"] - len(first) if first else 0
        return source

    def banners(self) -> tuple[Message, ...]:
        """The red one: somebody is to be paid elsewhere than the last time."""
        if not self._changed:
            return ()
        lines = [Text(f"{name}: {change}") for name, change in self._changed]
        more = self._more_changed
        if more:
            lines.append(Text(f"and {more:,} more requests; each says so in its row"))
        do = Text("Call the provider on a number you know before you pay.", "strong")
        return (Message("Deposit details differ from the last ones paid", (*lines, do), "alert"),)

    def bar(self, *, idle: bool) -> tuple[Button, ...]:
        """What can be done about the chosen ones."""
        return (
            Button("export", "Payment file…", "primary", enabled=idle),
            Button("submit", "Submit hash…", enabled=idle),
            Button("sent", "Mark as sent", enabled=idle),
            Button("not_funded", "Will not fund", enabled=idle),
            Button("not_uploaded", "Not uploaded", enabled=idle),
            Button("payee", "Accept payee…", enabled=idle),
            Button("undo", "Undo remark", enabled=idle),
        )

    def fields(self) -> tuple[InputField, ...]:
        """What the buttons need."""
        accounts = self._payers()
        pay_from = InputField(
            "pay_from", "Pay from", "IBAN or its last digits", self.error_of("pay_from")
        )
        return (
            *((pay_from,) if len(accounts) > 1 else ()),
            InputField(
                "transaction_hash", "Transaction hash", "0x…", self.error_of("transaction_hash")
            ),
            InputField("reason", "Reason", "For a remark", self.error_of("reason")),
        )

    def step(self) -> StepBlock | None:
        """What is to be confirmed."""
        pending = self._pending
        if isinstance(pending, Order):
            amounts = [transfer.amount for transfer in pending.transfers]
            whole = format_amount(sum(amounts, Decimal()), "EUR")
            count, payer = len(pending.transfers), pending.payer
            noun = "payment" if count == 1 else "payments"
            return StepBlock(
                key=pending.nonce,
                title=f"Make a payment file of {count} {noun}?",
                text=f"{count} {noun}, {whole} in all, from {payer.iban}. The file pays nothing"
                " until it is uploaded and released at the bank.",
                items=tuple(map(str, pending.transfers)),
                facts=(
                    detail("Total", Text(whole, "strong")),
                    detail("From", Text(payer.name), Text(payer.iban, "code")),
                    detail("To be executed on", Text(f"{pending.execution:%d %b %Y}")),
                    detail("Read from the service", Text(instant(self._desk.settings.now()))),
                ),
                buttons=confirm_buttons("Confirm and save file", idle=self.is_idle),
            )
        if isinstance(pending, PendingPayee):
            return payee_step(pending, idle=self.is_idle)
        if not isinstance(pending, PendingRequests):
            return None
        confirmed = pending.confirmed
        verb = "submit" if confirmed.needed <= 1 else "propose"
        return StepBlock(
            key=pending.nonce,
            title=f"{KINDS[pending.kind].verb} {pending.name}?",
            text=confirmed.text,
            facts=tuple(
                detail(fact.name.capitalize(), Text(fact.value)) for fact in confirmed.facts
            ),
            notes=tuple(Text(note, "warn") for note in confirmed.notes),
            buttons=confirm_buttons(f"Confirm and {verb}", idle=self.is_idle),
            tone="stop" if confirmed.notes else "go",
        )

    # What presses do

    def presses(self) -> dict[str, Callable[[Press], None]]:
        """The buttons and the two steps."""
        return {
            "export": self._export,
            "submit": self._submit,
            "payee": self._ask_payee,
            **{name: partial(self._remark, name) for name in _REMARKS},
        }

    def _export(self, press: Press) -> None:
        if self._pending is not None:
            return
        rows = self.chosen_rows()
        for row in rows:
            _require_order(row)
        payer = self._payer(press.typed.get("pay_from", ""))
        today = self._desk.settings.now().astimezone(self._desk.settings.zone).date()
        execution = today if is_target_day(today) else next_target_day(today)
        order = Order(
            nonce=uuid.uuid4().hex,
            payer=payer,
            transfers=tuple(map(self._transfer, rows)),
            requests=tuple(row["request"] for row in rows),
            execution=execution,
            rejected={row["request"]: row["file_seq"] for row in rows if row["state"] == REJECTED},
        )
        pain001(order.transfers, payer, self._desk.settings.now(), execution)

        def task(work: Work) -> None:
            self._require_current(rows, work)
            self.ask(order)

        nothing = "No file was made."
        self.start(
            "Reading the requests from the service",
            task,
            lambda error: self.fail(nothing, error, Text("Nothing was paid.")),
            nothing,
        )

    def _submit(self, press: Press) -> None:
        if self._pending is not None:
            return
        rows = self.chosen_rows()
        if len(rows) != 1 or rows[0]["direction"] != "off-ramp":
            raise InputError(
                "A transaction hash is of one off-ramp", do="choose the one that it pays"
            )
        transaction_hash = press.typed.get("transaction_hash", "")
        reason = press.typed.get("reason", "").strip() or None
        name = rows[0]["reference"] or rows[0]["request"]

        def task(work: Work) -> None:
            work.say(f"Reading {name} from the service")
            draft = self._actions.draft(
                SUBMIT,
                reason=reason,
                live=True,
                request_id=rows[0]["request"],
                transaction_hash=transaction_hash,
            )
            work.check()
            now = self._desk.settings.now()
            self.ask(PendingRequests(uuid.uuid4().hex, SUBMIT, (draft,), read_at=now, changed=()))

        self.start(
            f"Reading {name} from the service",
            task,
            lambda error: self.fail(f"{name}: not submitted", error, Text("Nothing was sent.")),
            "Nothing was sent.",
        )

    def _ask_payee(self, press: Press) -> None:
        if self._pending is not None:
            return
        reason = press.typed.get("reason", "").strip()
        if not reason:
            raise InputError("reason: is missing", do="say how you compared the names")
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several requests are chosen", do="compare one payee at a time")
        self.tell(None)
        self.ask(ask_payee(self._desk, row["request"], row["reference"], reason))

    def _remark(self, name: str, press: Press) -> None:
        reason = press.typed.get("reason", "").strip()
        if not reason and name != "undo":
            raise InputError("reason: is missing", do="say how you know")
        verb, title = _REMARKS[name]
        remark = getattr(self._desk.funding, verb)
        rows = self.chosen_rows()
        for row in rows:
            remark(row["request"], reason, dry_run=True)  # all of them can be, before any is
        remarks = [remark(row["request"], reason) for row in rows]
        self._chosen.clear()
        self.clear_fields()
        self.refresh()
        lines = [
            Text(f"{row['reference']}: {format_amount(row['send'], row['currency'])}")
            for row in rows
        ]
        apart = Text("A remark is no evidence: the state follows the bank's statement.", "quiet")
        self.tell(status(f"{title} by {remarks[0].by}: {len(rows)}", *lines, apart))

    def confirm(self, pending: Order | PendingPayee | PendingRequests, press: Press) -> None:
        """Make the payment file, accept the payee's name, or submit the hash."""
        if isinstance(pending, PendingPayee):
            payee = self._desk.funding.accept_payee(
                pending.request, pending.payee.reason, agreed=pending.payee
            )
            self.tell(
                self.finish(status(f"Accepted {visible(payee.known_as)} by {visible(payee.by)}"))
            )
            return
        if isinstance(pending, Order):
            self._make_file(pending, press)
            return

        def task(work: Work) -> Message:
            result = decide(self._desk, pending, work)
            outcome = result.outcome
            if outcome is None:
                return self.finish(batch_message(result, "Submitted"))
            recorded = f"The service recorded it: {outcome.status}, version {outcome.version}."
            lines = (Text(outcome.text), Text(recorded), Text("Sync to see its state.", "quiet"))
            return self.finish(status(f"Submitted the hash of {pending.name}", *lines))

        def failed(error: TreasuryError) -> Message:
            is_unsent, sentence = sending_state(self._desk, pending, error)
            name = pending.name
            title = f"{name}: not submitted" if is_unsent else f"Look at {name} first"
            return self.finish(self.fail(title, error, Text(sentence)))

        self.start(f"Checking {pending.name}", task, failed, "Nothing was sent.")

    def verb_of(self, pending: Order | PendingPayee | PendingRequests) -> str:
        """The button that the decision began with."""
        if isinstance(pending, PendingPayee):
            return "payee"
        return "export" if isinstance(pending, Order) else "submit"

    def _make_file(self, order: Order, press: Press) -> None:
        if self._desk.snapshot().commit != self._commit:
            self._require_as_shown(order)
        now = self._desk.settings.now()
        attempt = self._attempt(order)
        text = pain001(order.transfers, order.payer, now, order.execution, attempt=attempt)
        name = f"payments-{now:%Y-%m-%d-%H%M%S}.xml"
        facts = {
            "orders": [str(transfer) for transfer in order.transfers],
            "payer": order.payer.iban,
            "execution": order.execution.isoformat(),
            "message_id": message_id(order.transfers, order.payer, attempt),
            "references": [transfer.reference for transfer in order.transfers],
            "amounts": [transfer.amount for transfer in order.transfers],
            "payees": [(transfer.beneficiary, transfer.iban) for transfer in order.transfers],
            "answers": next(
                account.answers
                for account in self._desk.settings.accounts
                if plain_account(account.account) == order.payer.iban
            ),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        name = note_file(
            self._desk.journal,
            name,
            order.requests,
            facts,
            nonce=order.nonce,
            rejected=order.rejected,
        )
        self.hand_over(press, name, "application/xml", text)
        self._pending = None
        self._chosen.clear()
        self.refresh()
        self.tell(
            status(
                f"Made {name}",
                *(Text(str(transfer)) for transfer in order.transfers),
                Text("Next: upload it at the bank once, release it, then mark as sent", "strong"),
            )
        )

    # What it knows

    def _attempt(self, order: Order) -> int:
        """The first attempt at these orders of which the bank has said nothing.

        A file with the id of one that is answered would be taken for answered before it is sent.
        """
        answered = set(self._desk.snapshot().sql(_ANSWERED)["id"].to_pylist())
        attempt = 0
        while message_id(order.transfers, order.payer, attempt) in answered:
            attempt += 1
        return attempt

    def _require_as_shown(self, order: Order) -> None:
        """ActionRefused where what was added since the list was read says otherwise of a payment.

        A bank's line may show it by now, or an answer that the bank has it.
        """
        places = ", ".join("?" * len(order.requests))
        table = self.read(self._desk.snapshot()).sql(
            f"SELECT * FROM funding WHERE request IN ({places})",  # noqa: S608 - ours
            list(order.requests),
        )
        listed = {row["request"]: row for row in table.to_pylist()}
        for request, transfer in zip(order.requests, order.transfers, strict=True):
            row = listed.get(request)
            if row is not None:
                _require_order(row)
            if row is None or self._transfer(row) != transfer:
                raise ActionRefused(
                    f"{transfer.reference} is no longer what was shown; no file was made",
                    do="go back, and look at the list again",
                )

    def _transfer(self, row: Mapping[str, Any]) -> CreditTransfer:
        """What is ordered for a row of the list, with the payee's address where one is stated."""
        iban = plain_account(row["deposit_iban"])
        address = self._desk.settings.payees.get(iban)
        return CreditTransfer(
            reference=row["reference"] or "",
            beneficiary=row["deposit_beneficiary"] or "",
            iban=iban,
            bic=row["deposit_bic"],
            amount=row["send"],
            town="" if address is None else address.town,
            country="" if address is None else address.country,
        )

    def _payers(self) -> list[Payer]:
        settings = self._desk.settings
        return [
            Payer(
                name=settings.workspace.company,
                iban=plain_account(account.account),
                town=settings.workspace.town or "",
                country=settings.workspace.country or "",
                batch_booking=account.batch_booking,
            )
            for account in settings.accounts
            if account.source == "own_bank"
            and account.currency == "EUR"
            and is_iban(account.account)
        ]

    def _payer(self, typed: str) -> Payer:
        digits = plain_account(typed)
        matching = [payer for payer in self._payers() if payer.iban.endswith(digits)]
        if len(matching) == 1:
            return matching[0]
        ibans = ", ".join(payer.iban for payer in self._payers())
        if not ibans:
            raise InputError(
                "pay_from: no account of ours in EUR has an IBAN",
                do="add it to treasury.toml as [[accounts]] with source own_bank",
            )
        ambiguity = "stands for several accounts" if matching and digits else "names no account"
        problem = f"{typed.strip()!r} {ambiguity}" if digits else "is missing"
        raise InputError(f"pay_from: {problem}", do=f"give one of {ibans}")

    def _require_current(self, orders: list[dict[str, Any]], work: Work) -> None:
        """ActionRefused where the service no longer has a request as it is to be paid.

        What was read at the last sync may be stale, and a file is paid by somebody else.
        """
        names = sorted(self._desk.settings.credentials)
        client = self._desk.client("viewer" if "viewer" in names else names[0])
        for number, row in enumerate(orders):
            work.say(f"Reading {row['reference']} from the service", number, len(orders))
            request = client.ramp.requests.get(row["request"]).value
            moved = []
            if request.status != "AWAITING_FUNDS":
                moved.append(f"it is {request.status}")
            if request.payment_reference != row["reference"]:
                moved.append(f"its reference is {request.payment_reference}")
            if request.fiat_amount != row["send"]:
                moved.append(f"its amount is {request.fiat_amount}")
            received = ReceivedRequest(value=request, raw=b"{}", has_detail=True)
            moved += changed_details(row, rows(RAMP_REQUESTS, [received]).to_pylist()[0])
            if moved:
                raise ActionRefused(
                    f"{row['reference']} is not what this list shows: {'; '.join(moved)}",
                    do="sync, look at it again, and call the provider where details changed",
                )
        work.check()


def _row(row: Mapping[str, Any]) -> ListRow:
    name = row["reference"] or row["request"]
    amount = "not shown"
    shown: tuple[Text, ...] = (Text(amount),)
    if row["send"] is not None:
        amount = format_amount(row["send"], row["currency"])
        digits = amount.partition(" ")[2].replace(",", "")
        payable = (Text(amount, "strong"), Text(digits, "code", "amount"))
        shown = payable if row["payable"] else (Text(amount),)
    return ListRow(
        key=literal_text(row["request"]),
        label=f"{name}, {row['direction']}, {amount}, {row['state']}",
        cells=(
            (
                _copied(name, "reference", "strong") if row["payable"] else Text(name, "strong"),
                Text(row["direction"]),
                Text(_due(row), "quiet"),
            ),
            _pay_to(row),
            shown,
            _state(row),
        ),
    )


def _pay_to(row: Mapping[str, Any]) -> tuple[Text, ...]:
    if not row["payable"]:
        why = "Do not pay: not approved" if not row["to"] else "Not to be paid now"
        return (Text(row["to"] or "", "quiet"), Text(why, "warn"))
    lines = [_copied(row[name], label) for name, label in _COPIED.items() if row[name]]
    if row["deposit_wallet_chain"]:
        only = f"{row['asset']} on {row['deposit_wallet_chain']} only"
        lines.append(Text(only, "strong"))
    if row["differs"]:
        lines.append(Text(f"CHANGED: {row['differs']}", "warn"))
    if row["first_time"]:
        lines.append(Text("Nothing was paid here before: check it with the provider", "warn"))
    return tuple(lines) or (Text("The service gives no deposit details", "warn"),)


def _state(row: Mapping[str, Any]) -> tuple[Text, ...]:
    style: Any = _LOUD.get(row["state"], "warn")
    lines = [Text(row["state"], style), Text(row["next_step"])]
    evidence = f", statements to {row['evidence_to']:%d %b}" if row["evidence_to"] else ""
    lines.append(
        Text(
            f"bank: {row['seen']}{evidence}" if row["direction"] == "on-ramp" else row["seen"],
            "quiet",
        )
    )
    if row["marked"]:
        lines.append(Text(f"Remark, no evidence: {row['marked']}", "warn"))
    return tuple(lines)


def _due(row: Mapping[str, Any]) -> str:
    if row["due"] is None:
        return ""
    plural = "" if row["overdue"] == 1 else "s"
    late = f", {row['overdue']} {row['overdue_unit']}{plural} overdue" if row["overdue"] else ""
    return f"due {row['due']:%d %b}{late}"


def _copied(text: str, label: str, style: Any = "plain") -> Text:
    """A line with its Copy; none where something in it does not show, for it would be pasted."""
    if visible(text) != text or literal_text(text) != text:
        return Text(f"{text} (holds what does not show: do not pay, ask the provider)", "warn")
    return Text(text, style, label)


def _require_order(row: Mapping[str, Any]) -> None:
    name = row["reference"] or row["request"]
    if row["state"] in {IN_FILE, WITH_THE_BANK}:
        raise InputError(
            f"{name} is in a payment file ({row['marked']}): {row['next_step']}",
            do="leave it out, or say first that the file was not uploaded",
        )
    if row["marked"]:
        raise InputError(f"{name} is {row['marked']}", do="leave it out, or undo the remark first")
    if row["state"] not in {"PAY", REJECTED}:
        raise InputError(
            f"{name} is {row['state']}, and only PAY is payable: {row['next_step']}",
            do="leave it out",
        )
    if row["differs"]:
        raise InputError(
            f"{name} is to be paid to other details than before ({row['differs']})",
            do="call the provider on a number you know; once it confirms, pay it by hand",
        )
    if row["currency"] != "EUR" or not row["deposit_iban"]:
        raise InputError(
            f"{name} is no SEPA payment: {row['currency']}"
            + ("" if row["deposit_iban"] else " without an IBAN"),
            do="pay it by hand at the bank",
        )
