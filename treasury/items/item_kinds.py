"""The kinds of open items: what each is called, whose move it is, and whether it blocks a close.

One table for every surface. A close is blocked by what nobody may accept, and by what two people
have not accepted item by item; what waits in its time, at the provider or for a colleague is
listed and does not block.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = ["KINDS", "OWNERS", "TURNS", "Blocks", "CheckStep", "ItemKind", "Turn"]

Turn = Literal["us", "colleague", "provider", "bank", "time"]
CheckStep = Literal["statements", "sync", "balances", "transit", "ledger", "lines", "decisions"]
Blocks = Literal["never acceptable", "until accepted", "never"]

TURNS: Final[dict[Turn, str]] = {
    "us": "yours",
    "colleague": "colleague's",
    "provider": "provider's",
    "bank": "bank's",
    "time": "time's",
}
"""Whose move it is, in the order of the first screen, with its word for people."""
OWNERS: Final[dict[Turn, str]] = {
    "us": "Treasury",
    "colleague": "Checker",
    "provider": "Provider",
    "bank": "Bank",
    "time": "Nobody yet",
}
"""Who acts next on an item for which no owner was named."""


class ItemKind(msgspec.Struct, frozen=True):
    """A kind of open item; `next_step` is for all of them together, `command` lists them.

    `step` is the step of a close's checklist that it stands under.
    """

    name: str
    label: str
    step: CheckStep
    turn: Turn
    blocks: Blocks
    next_step: str
    command: str


_FUNDS: Final = "treasury awaiting-funds"
_LINES: Final = "treasury match open"
_ALL: Final = "treasury exceptions"
_EXPOSURE: Final = "treasury exposure"
_STATEMENTS: Final = "treasury statements list"
_ACTIONS: Final = "treasury actions list"

_TABLE: Final = (
    # The evidence that everything else rests on
    ItemKind("journal_broken", "Journal does not verify", "decisions",
             "us", "never acceptable",
             "Put a good copy of the journal back", "treasury journal verify"),
    ItemKind("no_account", "No account declared", "statements",
             "us", "never acceptable", "Declare the accounts in treasury.toml", "treasury doctor"),
    ItemKind("not_synced", "Services not read after the month's end", "sync",
             "us", "never acceptable", "Run `treasury sync`", "treasury sync"),
    ItemKind("statement_missing", "Statement not complete", "statements",
             "us", "never acceptable", "Add the missing statements", _STATEMENTS),
    ItemKind("balance_unexplained", "Balance not explained by its lines", "balances",
             "us", "never acceptable",
             "Read the statements again: `treasury statements check`", _STATEMENTS),
    ItemKind("coins_untied", "Coins do not come to their closing", "balances",
             "us", "never acceptable", "Do what each row says", "treasury coins show"),
    ItemKind("unknown_outcome", "Action of unknown outcome", "decisions",
             "us", "never acceptable", "Recover each, or settle it", "treasury actions recover"),
    ItemKind("counts_differ", "The service counts more than is held", "sync",
             "us", "until accepted", "Run `treasury sync --full`", "treasury sync --full"),
    # Requests that we fund
    ItemKind("overdue", "Overdue, not paid", "transit",
             "us", "until accepted", "Pay each with its own reference", _FUNDS),
    ItemKind("coins_overdue", "Overdue, coins not sent", "transit",
             "us", "until accepted", "Send each, then submit its transaction hash", _FUNDS),
    ItemKind("check_bank", "Check the bank", "transit",
             "us", "until accepted", "Add the missing statements; do not pay twice", _FUNDS),
    ItemKind("deposit_inactive", "Deposit details not active", "transit",
             "us", "until accepted", "Ask the provider where to pay; do not pay", _FUNDS),
    ItemKind("sent_wrong", "Sent wrong", "transit",
             "us", "until accepted", "Correct each with the provider, as its row says", _FUNDS),
    ItemKind("returned", "Returned", "transit",
             "us", "until accepted", "Fix, then pay again", _FUNDS),
    ItemKind("file_not_debited", "In a payment file, no debit", "transit",
             "us", "until accepted",
             "Ask the bank whether it has the file; do not pay twice", _FUNDS),
    ItemKind("payee_in_doubt", "Payee's name not confirmed by the bank", "transit",
             "us", "until accepted",
             "Do not release: verify each payee anew, outside the file, by two people", _FUNDS),
    ItemKind("rejected", "Rejected by the bank", "transit",
             "us", "until accepted", "Fix what the bank names, then pay again", _FUNDS),
    ItemKind("amount_changed", "Amount changed after payment", "transit",
             "us", "until accepted", "Ask the provider; do not pay twice", _ALL),
    ItemKind("hash_in_doubt", "Transaction hash in doubt", "transit",
             "us", "until accepted", "Find which request each hash paid", _ALL),
    # Bank lines
    ItemKind("needs_decision", "Need your decision", "lines",
             "us", "until accepted", "Accept or reject what each line may belong to", _LINES),
    ItemKind("contradicted", "Contradicted", "lines",
             "us", "until accepted", "Find out what is wrong: the payment, or the record", _LINES),
    ItemKind("paid_twice", "Paid twice", "lines",
             "us", "until accepted", "Ask for the second payment back", _LINES),
    ItemKind("more_than_expected", "More than was expected", "lines",
             "us", "until accepted",
             "Send the rest back, or undo and say what it is for", "treasury match list"),
    ItemKind("no_reference", "No reference", "lines",
             "us", "until accepted", "Ask the payer, or close the line with a reason", _LINES),
    ItemKind("awaits_line", "Wait for a line to be decided", "transit",
             "us", "never", "Decide the line that may be each", _LINES),
    # What is not proved
    ItemKind("payout_not_provable", "Payout not provable", "transit",
             "us", "until accepted", "Add the statements that would show each", _ALL),
    ItemKind("leg_not_shown", "Own transfer, no statement of the other leg", "transit",
             "us", "until accepted", "Add the statement of the other account", _ALL),
    ItemKind("balance_not_proved", "Balance not proved", "balances",
             "us", "until accepted", "Do what each row says", _ALL),
    ItemKind("credits_not_provable", "Credits not provable", "lines",
             "provider", "until accepted",
             "Ask for the report of the account that the credits are booked on", _ALL),
    ItemKind("rate_outside_band", "Rate outside its band", "transit",
             "us", "until accepted", "Ask the provider for the rate of each", _ALL),
    ItemKind("credit_not_shown", "Credit of an account that does not show it", "transit",
             "us", "until accepted",
             "Look at each decision again; undo it, or ask the provider", _ALL),
    ItemKind("ledger_difference", "Ledger differs", "ledger",
             "us", "until accepted",
             "Correct the ledger, or explain the difference", "treasury close --ledger FILE"),
    ItemKind("decision_moved", "Decided on facts that have changed", "decisions",
             "us", "until accepted",
             "Look at each decision; undo what is no longer right", "treasury match list"),
    ItemKind("late_item", "Learnt after its month was closed", "decisions",
             "us", "until accepted",
             "Decide each; it posts in the open month", "treasury periods late"),
    ItemKind("exposure_above_limit", "More with the provider than its limit", "transit",
             "us", "until accepted",
             "Bring it below the limit, or agree on another limit", _EXPOSURE),
    ItemKind("exposure_not_provable", "Limit with the provider, not provable", "transit",
             "us", "never", "Do what each row that is not provable says", _EXPOSURE),
    ItemKind("wallet_not_proved", "Company wallet without evidence", "balances",
             "us", "never",
             "Add an explorer export: `treasury wallets add`", "treasury wallets list"),
    # Ours, and in time
    ItemKind("to_pay", "To pay, in time", "transit",
             "us", "never", "Pay each with its own reference", _FUNDS),
    ItemKind("coins_to_send", "Coins to send, in time", "transit",
             "us", "never", "Send each, then submit its transaction hash", _FUNDS),
    ItemKind("hash_proposed", "Coins sent, hash not yet at the service", "transit",
             "us", "never", "Have each hash carried out; do not send coins again", _FUNDS),
    ItemKind("ready", "Approved, to be carried out", "decisions",
             "us", "never", "Carry each out, or withdraw it", _ACTIONS),
    ItemKind("notice_unknown", "Notices that may not have arrived", "decisions",
             "us", "never",
             "Ask whether each arrived, then `treasury notices settle`", "treasury notices list"),
    ItemKind("list_refused", "List that was not read", "sync",
             "us", "never", "Read each with a credential that may", "treasury sync"),
    ItemKind("field_new", "Field that is not known here", "sync",
             "us", "never",
             "Look what each means, and remark on it: `treasury items remark`", "treasury tables"),
    ItemKind("stale", "Services not read for long", "sync",
             "us", "never", "Run `treasury sync`", "treasury sync"),
    # A colleague's
    ItemKind("paid_early", "Paid before approval", "transit",
             "colleague", "until accepted", "Have it approved, or recall the payment", _FUNDS),
    ItemKind("awaiting_approval", "Request waits for approval", "transit",
             "colleague", "never", "Approve or reject each", _ALL),
    ItemKind("bank_signature", "Waits for a signature at the bank", "transit",
             "colleague", "until accepted", "Have each signed at the bank", _FUNDS),
    ItemKind("approval_waits", "Action waits for approval", "decisions",
             "colleague", "never", "Approve or reject each", _ACTIONS),
    # The provider's
    ItemKind("silent", "Sent, service silent", "transit",
             "provider", "until accepted", "Ask the provider; do not pay twice", _FUNDS),
    ItemKind("payout_missing", "Payout or delivery missing", "transit",
             "provider", "until accepted", "Ask the provider; it may have bounced", _ALL),
    ItemKind("transfer_late", "Own transfer past its time", "transit",
             "provider", "until accepted",
             "Ask the provider, or the bank; do not send it again", _ALL),
    ItemKind("not_converted", "Credit not converted in time", "transit",
             "provider", "until accepted", "Ask the provider", _ALL),
    ItemKind("vanished", "No longer listed by its service", "transit",
             "provider", "until accepted",
             "Ask the provider what became of each; do not pay it", _ALL),
    ItemKind("unknown_status", "Status not known here", "transit",
             "provider", "until accepted", "Ask the provider what it means", _ALL),
    ItemKind("named_nowhere", "Named by records, listed by none", "sync",
             "provider", "never", "Ask the provider what each is", _ALL),
    ItemKind("reference_gap", "Gap in references", "sync",
             "provider", "never", "Ask the provider what became of each number", _ALL),
    ItemKind("stuck", "Stuck", "transit", "provider", "never", "Ask the provider", _ALL),
    ItemKind("blocked", "Blocked", "transit",
             "provider", "never", "Contact the provider, never resend", _ALL),
    ItemKind("paid_not_completed", "Paid out, not completed", "transit",
             "provider", "never", "Sync, then ask why the service does not say so", _ALL),
    ItemKind("payment_late", "Transfer past its time", "transit",
             "provider", "never", "Ask the provider", _ALL),
    ItemKind("held_kyc", "Held until the holder is verified", "transit",
             "provider", "never", "Have the holder verified", _ALL),
    ItemKind("will_not_fund", "Will not be funded", "transit",
             "provider", "never", "Nothing; each stays open at the service", _FUNDS),
    # The bank's, and time's
    ItemKind("in_file", "In a payment file", "transit",
             "bank", "never", "Wait for the debit; do not pay twice", _FUNDS),
    ItemKind("with_bank", "With the bank, not debited yet", "transit",
             "bank", "never", "Wait for the debit; do not pay twice", _FUNDS),
    ItemKind("pending_at_bank", "Pending at the bank", "transit",
             "bank", "never", "Wait for the booked statement; do not pay twice", _FUNDS),
    ItemKind("bank_cutoff", "Booked by the bank after the month's end", "transit",
             "bank", "never", "Nothing; the bank booked each on its next business day", _ALL),
    ItemKind("sent", "Sent, in time", "transit", "time", "never", "Wait for the service", _FUNDS),
    ItemKind("hash_given", "Hash given, in time", "transit",
             "time", "never", "Wait for the service", _FUNDS),
    ItemKind("processing", "In processing, in time", "transit",
             "time", "never", "Wait for the service", _ALL),
    ItemKind("payout_due", "Payout due, in time", "transit",
             "time", "never", "Wait for the bank", _ALL),
    ItemKind("under_way", "Under way, in time", "transit",
             "time", "never", "Wait for it to settle", _ALL),
    ItemKind("settled_since", "Open at the month's end, ended since", "transit",
             "time", "never", "Nothing; each ended after the month", _ALL),
    ItemKind("converting", "Credit to be converted, in time", "transit",
             "time", "never", "Wait for the service", _ALL),
)  # fmt: skip

KINDS: Final = {kind.name: kind for kind in _TABLE}
"""Every kind by its name, in the order of the first screen within whose move it is."""
