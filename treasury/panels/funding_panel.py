"""The funding panel: payee, amount and reference of each payment, after its approval.

Each detail that a bank's form needs has a Copy button. The chosen requests are downloaded as a
payment file, after their data was read from the service again and compared. The transaction hash of
an off-ramp is submitted here. A remark that a payment was sent is stored separately from the bank's
evidence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Final

from treasury.actions import KINDS
from treasury.actions.payment_orders import (
    CreditTransfer,
    Payer,
    message_id,
    pain001,
    payers_of,
)
from treasury.actions.sepa_letters import sepa_letters
from treasury.core.calendar import is_target_day, next_target_day
from treasury.core.errors import ActionRefused, InputError, NothingStored, TreasuryError
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.money import format_amount
from treasury.core.text import clean, visible
from treasury.core.wording import state_words
from treasury.extract.ramp_tables import RAMP_REQUESTS, ReceivedRequest
from treasury.extract.record_rows import rows
from treasury.journal.decision_history import AcceptedPayee
from treasury.lake import Snapshot
from treasury.month.decisions.remarks import LIABILITY
from treasury.month.funding import FUNDING, IN_FILE, REJECTED, WITH_THE_BANK
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Button,
    Heading,
    InputField,
    Message,
    StepBlock,
    Text,
    confirm_buttons,
    detail,
)
from treasury.panels.frames.list_panel import Listing, ListPanel, PendingDecision
from treasury.panels.frames.panel import Press, Presses, status
from treasury.panels.frames.panel_text import instant
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.payable_requests import changed_details, payable_table
from treasury.panels.shown_funding import FILTERS, funding_row
from treasury.panels.steps.action_steps import PendingRequests, decide, sending_state
from treasury.panels.steps.filed_payments import note_file
from treasury.panels.steps.proposed_actions import batch_message

_SUBMIT: Final = "ramp_request.submit_hash"
_COLUMNS: Final = (
    Heading("Request"),
    Heading("Pay to", wide=True),
    Heading("Amount", end=True),
    Heading("State", wide=True),
)
_NAMED_CHANGES: Final = 5
"""Maximum number of requests that the banner names as changed; each row shows its own change."""
_REMARKS: Final = {
    "sent": ("marked_sent", "Marked as sent"),
    "not_funded": ("will_not_fund", "Marked as not to be funded"),
    "not_uploaded": ("not_uploaded", "Removed from its payment file"),
    "undo": ("undo", "Remark undone"),
}
"""For each button of a remark: the method of `t.funding`, and the title of the result."""
_DIFFERING: Final = step_sql("treasury.panels.queries", "differing_details")
_BALANCES: Final = step_sql("treasury.panels.queries", "payer_balances")
_ANSWERED: Final = step_sql("treasury.panels.queries", "answered_ids")


class _PendingFile(PendingDecision, frozen=True, kw_only=True):
    """Payments to confirm as a file."""

    payer: Payer
    transfers: tuple[CreditTransfer, ...]
    requests: tuple[str, ...]
    execution: date
    rejected: Mapping[str, int] = {}
    """For each request, the journal number of its previous file if the bank rejected that file."""

    def step(self, now: datetime) -> StepBlock:
        """Return the step: each payment, their total, the account and the day."""
        whole = format_amount(sum((order.amount for order in self.transfers), Decimal()), "EUR")
        count, payer = len(self.transfers), self.payer
        noun = "payment" if count == 1 else "payments"
        return StepBlock(
            key=self.nonce,
            title=f"Make a payment file of {count} {noun}?",
            text=f"{count} {noun}, {whole} in all, from {payer.iban}. The file pays nothing"
            " until it is uploaded and released at the bank.",
            items=tuple(map(str, self.transfers)),
            facts=(
                detail("Total", Text(whole, "strong")),
                detail("From", Text(payer.name), Text(payer.iban, "code")),
                detail("To be executed on", Text(f"{self.execution:%-d %b %Y}")),
                detail("Read from the service", Text(instant(now))),
            ),
            buttons=confirm_buttons("Confirm and save file"),
        )


class _PendingHash(PendingRequests, frozen=True, kw_only=True):
    """A transaction hash to confirm for submission or proposal."""

    def step(self, _: datetime) -> StepBlock:
        """Return the step: the hash, its request, and any warnings."""
        confirmed = self.confirmed
        verb = "submit" if confirmed.needed <= 1 else "propose"
        return StepBlock(
            key=self.nonce,
            title=f"{KINDS[self.kind].verb} {self.name}?",
            text=confirmed.text,
            facts=tuple(
                detail(fact.name.capitalize(), Text(fact.value)) for fact in confirmed.facts
            ),
            notes=tuple(Text(note, "warn") for note in confirmed.notes),
            buttons=confirm_buttons(f"Confirm and {verb}"),
            tone="stop" if confirmed.notes else "go",
        )


class _PendingPayee(PendingDecision, frozen=True, kw_only=True):
    """A close match of names to accept, for the payment of one request."""

    request: str
    reference: str
    payee: AcceptedPayee

    def step(self, _: datetime) -> StepBlock:
        """Return the step: both names, the account, and the consequence."""
        payee = self.payee
        known_as = clean(payee.known_as) or "a similar name, which it does not give"
        return StepBlock(
            key=self.nonce,
            title=f"Accept the payee of {clean(self.reference)}?",
            text="The bank's name is accepted for this payee, this account and these names,"
            " until one of these changes.",
            facts=(
                detail("We order", Text(clean(payee.name), "strong")),
                detail("The bank knows", Text(known_as)),
                detail("Account", Text(clean(payee.iban), "code")),
                detail("Reason", Text(clean(payee.reason))),
                detail("Accepted by", Text(clean(payee.by), "strong")),
            ),
            notes=(Text(LIABILITY, "warn"),),
            buttons=confirm_buttons("Confirm name", "danger"),
            tone="stop",
        )


class FundingPanel(ListPanel):
    """The panel of requests that wait for funds; `rows` and `sql` give the list to programs."""

    title: ClassVar[str] = "Funding"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        # In a view at an earlier instant, this raises InputError before any button is pressed.
        self._actions = desk.actions
        self._changed: tuple[tuple[str, str], ...] = ()
        self._more_changed = 0
        self._unknown = ""
        self._balances: dict[str, tuple[Decimal, date]] = {}
        super().__init__(desk, size=size)

    def summary(self) -> str:
        """Return the number of rows of the list."""
        return f"{self._page.total} requests"

    # Display: the list, its notes, buttons and fields.

    def listing(self) -> Listing:
        """Return the requests that wait for funds, most overdue first."""
        return Listing(
            caption="Ramp requests awaiting funds",
            query="SELECT * FROM funding",
            order="number",
            key="request",
            searched=("reference", "request", "state", '"to"', "to_account", "currency", "send"),
            hint="Reference, state, account or amount",
            columns=_COLUMNS,
            row=funding_row,
            empty=self._unknown or "No request awaits funds.",
            several=True,
            filters=FILTERS,
        )

    def read(self, snapshot: Snapshot) -> QuerySource:
        """Return the requests that wait for funds, with the deposit details from the service."""
        try:
            waiting = self._desk.awaiting_funds().arrow.select(FUNDING.names)
        except NothingStored as unknown:
            waiting, self._unknown = FUNDING.empty_table(), str(unknown)
        else:
            self._unknown = ""
            self._balances = {
                row["account"]: (row["closing_balance"], row["closing_date"])
                for row in snapshot.sql(_BALANCES).to_pylist()
            }
        table = payable_table(waiting, snapshot)
        source = ArrowTables(funding=table)
        first = source.sql(_DIFFERING, [_NAMED_CHANGES]).to_pylist()
        self._changed = tuple((row["reference"], row["differs"]) for row in first)
        self._more_changed = first[0]["in_all"] - len(first) if first else 0
        return source

    def banners(self) -> tuple[Message, ...]:
        """Return the red warning that payment details differ from the last paid ones."""
        if not self._changed:
            return ()
        lines = [Text(f"{name}: {change}") for name, change in self._changed]
        if more := self._more_changed:
            lines.append(Text(f"and {more:,} more requests; each row shows its change"))
        do = Text("Call the provider on a number you know before you pay.", "strong")
        return (Message("Deposit details differ from the last ones paid", (*lines, do), "alert"),)

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons for the chosen requests."""
        return (
            Button("export", "Payment file…", "primary"),
            Button("submit", "Submit hash…"),
            Button("sent", "Mark as sent"),
            Button("not_funded", "Will not fund"),
            Button("not_uploaded", "Not uploaded"),
            Button("payee", "Accept payee…"),
            Button("undo", "Undo remark"),
        )

    def fields(self) -> tuple[InputField, ...]:
        """Return the fields that the buttons need."""
        payers = payers_of(self._desk.settings)
        choices = []
        for payer in payers:
            balance = ", no balance"
            if payer.iban in self._balances:
                amount, on = self._balances[payer.iban]
                balance = f", {format_amount(amount, 'EUR')} on {on:%-d %b %Y}"
            choices.append((payer.iban, f"{payer.iban}{balance}"))
        pay_from = InputField("pay_from", "Pay from", "Choose an account", choices=tuple(choices))
        return (
            *((pay_from,) if len(payers) > 1 else ()),
            InputField("transaction_hash", "Transaction hash", "0x…"),
            InputField("reason", "Reason", "For a remark"),
        )

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers of the buttons with an action to confirm in a second step."""
        return {"export": self._export, "submit": self._submit, "payee": self._ask_payee}

    def handlers(self) -> Presses:
        """Return all handlers; a remark is possible while a step is open."""
        return super().handlers() | {name: partial(self._remark, name) for name in _REMARKS}

    def _export(self, press: Press) -> None:
        rows = self.chosen_rows()
        for row in rows:
            _require_order(row)
        payer = self._payer(press.typed.get("pay_from", ""))
        today = self._desk.settings.now().astimezone(self._desk.settings.zone).date()
        execution = today if is_target_day(today) else next_target_day(today)
        order = _PendingFile(
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
        rows = self.chosen_rows()
        if len(rows) != 1 or rows[0]["direction"] != "off-ramp":
            raise InputError(
                "A transaction hash belongs to one off-ramp", do="choose the one that it pays"
            )
        transaction_hash = press.typed.get("transaction_hash", "")
        reason = press.text("reason") or None
        name = rows[0]["reference"] or rows[0]["request"]

        def task(work: Work) -> None:
            work.say(f"Reading {name} from the service")
            draft = self._actions.draft(
                _SUBMIT,
                reason=reason,
                live=True,
                request_id=rows[0]["request"],
                transaction_hash=transaction_hash,
            )
            work.check()
            now = self._desk.settings.now()
            self.ask(_PendingHash(kind=_SUBMIT, all=(draft,), read_at=now))

        self.start(
            f"Reading {name} from the service", task, f"{name}: not submitted", "Nothing was sent."
        )

    def _ask_payee(self, press: Press) -> None:
        reason = press.text("reason")
        if not reason:
            raise InputError("reason: is missing", do="explain how you compared the names")
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several requests are chosen", do="compare one payee at a time")
        request, reference = row["request"], row["reference"]
        payee = self._desk.funding.accept_payee(request, reason, dry_run=True)
        self.ask(_PendingPayee(request=request, reference=reference, payee=payee))

    def _remark(self, name: str, press: Press) -> None:
        reason = press.text("reason")
        if not reason and name != "undo":
            raise InputError("reason: is missing", do="give the source of your information")
        verb, title = _REMARKS[name]
        remark = getattr(self._desk.funding, verb)
        rows = self.chosen_rows()
        for row in rows:
            # All remarks are checked before the first one is written.
            remark(row["request"], reason, dry_run=True)
        remarks = [remark(row["request"], reason) for row in rows]
        self._chosen.clear()
        self.clear_fields()
        self.refresh()
        lines = [
            Text(f"{row['reference']}: {format_amount(row['send'], row['currency'])}")
            for row in rows
        ]
        apart = Text("A remark is not evidence: the state follows the bank's statement.", "quiet")
        self.tell(status(f"{title} by {remarks[0].by}: {len(rows)}", *lines, apart))

    def confirm(self, pending: _PendingFile | _PendingPayee | _PendingHash, press: Press) -> None:
        """Make the payment file, accept the payee's name, or submit the hash."""
        if isinstance(pending, _PendingPayee):
            payee = self._desk.funding.accept_payee(
                pending.request, pending.payee.reason, agreed=pending.payee
            )
            self.tell(
                self.finish(status(f"Accepted {visible(payee.known_as)} by {visible(payee.by)}"))
            )
            return
        if isinstance(pending, _PendingFile):
            self._make_file(pending, press)
            return

        def task(work: Work) -> Message:
            result = decide(self._desk, pending, work)
            outcome = result.outcome
            if outcome is None:
                return batch_message(result, "Submitted")
            recorded = f"The service recorded it: {outcome.status}, version {outcome.version}."
            lines = (Text(outcome.text), Text(recorded), Text("Sync to see its state.", "quiet"))
            return status(f"Submitted the hash of {pending.name}", *lines)

        def failed(error: TreasuryError) -> Message:
            is_unsent, sentence = sending_state(self._desk, pending, error)
            name = pending.name
            title = f"{name}: not submitted" if is_unsent else f"Look at {name} first"
            return self.fail(title, error, Text(sentence))

        self.carry_out(f"Checking {pending.name}", task, failed, "Nothing was sent.")

    def _make_file(self, order: _PendingFile, press: Press) -> None:
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
        lines = [Text(str(transfer)) for transfer in order.transfers]
        advice = Text("Next: upload it at the bank once, release it, then mark as sent", "strong")
        self.tell(self.finish(status(f"Made {name}", *lines, advice)))

    # Changes to the panel's state.

    def _attempt(self, order: _PendingFile) -> int:
        """Return the lowest attempt with a message id that no bank has answered.

        Otherwise the new file would have the id of an answered file, and count as answered too.
        """
        answered = set(self._desk.snapshot().sql(_ANSWERED)["id"].to_pylist())
        attempt = 0
        while message_id(order.transfers, order.payer, attempt) in answered:
            attempt += 1
        return attempt

    def _require_as_shown(self, order: _PendingFile) -> None:
        """Raise ActionRefused if newer data contradicts a payment.

        For example, a bank line or a bank's answer may show that it is already paid.
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
                    f"{transfer.reference} has changed since it was shown; no file was made",
                    do="go back, and look at the list again",
                )

    def _transfer(self, row: Mapping[str, Any]) -> CreditTransfer:
        """Return the payment order of a row, with the payee's address if the settings have it."""
        iban = plain_account(row["deposit_iban"])
        address = self._desk.settings.payees.get(iban)
        return CreditTransfer(
            reference=row["reference"] or "",
            beneficiary=row["deposit_beneficiary"] or "",
            iban=iban,
            bic=row["deposit_bic"],
            amount=row["send"],
            town="" if address is None else sepa_letters(address.town),
            country="" if address is None else address.country,
        )

    def _payer(self, typed: str) -> Payer:
        digits = plain_account(typed)
        matching = [
            payer for payer in payers_of(self._desk.settings) if payer.iban.endswith(digits)
        ]
        if len(matching) == 1:
            return matching[0]
        ibans = ", ".join(payer.iban for payer in payers_of(self._desk.settings))
        if not ibans:
            raise InputError(
                "pay_from: none of our accounts in EUR has an IBAN",
                do="add it to treasury.toml as [[accounts]] with source own_bank",
            )
        ambiguity = "matches several accounts" if matching and digits else "matches no account"
        problem = f"{typed.strip()!r} {ambiguity}" if digits else "is missing"
        raise InputError(f"pay_from: {problem}", do=f"give one of {ibans}")

    def _require_current(self, orders: list[dict[str, Any]], work: Work) -> None:
        """Raise ActionRefused if the service's data of a request differs from the list.

        The last sync may be outdated, and the file is used to pay.
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
                    f"{row['reference']} differs from this list: {'; '.join(moved)}",
                    do="sync, check it again, and call the provider if details changed",
                )
        work.check()


def _require_order(row: Mapping[str, Any]) -> None:
    name = row["reference"] or row["request"]
    if row["state"] in {IN_FILE, WITH_THE_BANK}:
        raise InputError(
            f"{name} is in a payment file ({row['marked']}): {row['next_step']}",
            do="leave it out, or first mark the file as not uploaded",
        )
    if row["marked"]:
        raise InputError(f"{name} is {row['marked']}", do="leave it out, or undo the remark first")
    if row["differs"]:
        raise InputError(
            f"{name} has new payment details ({row['differs']})",
            do="call the provider on a number you know; if it confirms them, pay by hand",
        )
    if row["state"] not in {"PAY", REJECTED}:
        raise InputError(
            f"{name} is {state_words(row['state'])}, and only PAY is payable: {row['next_step']}",
            do="leave it out",
        )
    if row["currency"] != "EUR" or not row["deposit_iban"]:
        raise InputError(
            f"{name} is not a SEPA payment: {row['currency']}"
            + ("" if row["deposit_iban"] else " without an IBAN"),
            do="pay it by hand at the bank",
        )
