"""Controls: who prepared, accepted and signed a month, and how each person was identified.

A month has the acts that were journaled after the signature of the last month closed before it, up
to its own signature. So each act belongs to exactly one closed month.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.actions.policies.policy import Policy, read_keys
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.core.tables.column_types import BOOL, INSTANT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.journal import Actor, Draft, Entry, Journal, SignatureRules
from treasury.journal.chain import reads_entries
from treasury.journal.decision_history import PAYEE_ACCEPTED, SHEET
from treasury.journal.decision_log import BULK
from treasury.journal.period_history import closed_periods
from treasury.journal.signing import Signature

POLICY_SAVED: Final = "policy.saved"
SCOPE_PROPOSED: Final = "item.scope_proposed"
CONTROLS: Final = grouped_schema(
    (TEXT, "kind", "who", "identified", "subject"),
    (INSTANT, "at"),
    (BOOL, "alone"),
    (TEXT, "in_bulk", "override", "reason"),
    (INTEGER, "entry"),
    (TEXT, "act"),
)
"""One row per act of a person, in the journal's order; `entry` is its place there.

`act` is the kind of its journal entry, and `kind` is as in CONTROL_KINDS. `identified` states how
the name was verified, or that it is only claimed. `alone` is true if no second person agreed.
`in_bulk` has words such as `in bulk, 12 items` for items that were decided together. `override`
lists the contradictions that the person accepted.
"""
CONTROL_KINDS: Final = {
    "prepared": "Prepared",
    "signed": "Signed",
    "withdrawn": "Preparation withdrawn",
    "reopened": "Reopened",
    "carry_proposed": "Carrying proposed",
    "carry_accepted": "Carrying accepted",
    "carry_withdrawn": "Carrying withdrawn",
    "policy_changed": "Policy, limits or rules changed",
    "scope_changed": "Accounts taken out of the comparison with the books",
    "file_removed": "Removal of an attached file proposed or accepted",
    "line_decided": "Bank line decided",
    "request_marked": "Request marked",
    "payment_file": "Payment file made or changed",
    "action_proposed": "Action at a service proposed",
    "action_approved": "Action at a service approved",
    "action_stopped": "Action at a service stopped",
    "action_sent": "Action at a service sent",
    "action_settled": "Outcome of an action stated by a person",
}
"""The words for each kind of act, in the order of the report."""
CONTROL_COUNTS: Final = grouped_schema(
    (TEXT, "kind", "people"),
    (INTEGER, "acts", "verified", "claimed", "alone", "in_bulk", "overrides"),
)
"""One row per kind of act: its people, its number of acts, and how many of them have each mark."""
_KINDS_OF_ENTRIES: Final = {
    "period.prepare": "prepared",
    "period.close": "signed",
    "period.withdraw": "withdrawn",
    "period.reopen": "reopened",
    "item.proposed": "carry_proposed",
    "item.accepted": "carry_accepted",
    "item.withdrawn": "carry_withdrawn",
    "item.removal_": "file_removed",
    "item.limits_": "policy_changed",
    "item.scope_": "scope_changed",
    "coins.": "policy_changed",
    "exposure.": "policy_changed",
    "rules.": "policy_changed",
    POLICY_SAVED: "policy_changed",
    "match.": "line_decided",
    "request.": "request_marked",
    "payment_file.": "payment_file",
    "action.proposed": "action_proposed",
    "action.approved": "action_approved",
    "action.rejected": "action_stopped",
    "action.withdrawn": "action_stopped",
    "action.sending": "action_sent",
    "action.done": "action_settled",
    "action.recovered": "action_settled",
}
"""The kind of act for each kind of journal entry, or for the beginning of its name."""
_READ: Final = (
    "period.", "item.", "coins.", "exposure.", "rules.", "policy.", "match.", "request.",
    "payment_file.", "action.",
)  # fmt: skip
_CHANGES: Final = ("policy_changed", "scope_changed")
_VERIFIED: Final = "verified: "
_SOURCES: Final = {"hub": "hub", "system": "login of the computer"}
_CLAIMED: Final = "claimed"


class Controls(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The acts behind a month's close, and their numbers by kind.

    `acts` is as in CONTROLS and `counts` as in CONTROL_COUNTS. Times are shown in `zone`, the
    reporting time zone. `late_items` is the number of late items that the close lists.
    """

    code_columns: ClassVar[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
        "acts": {"kind": CONTROL_KINDS},
        "counts": {"kind": CONTROL_KINDS},
    }

    counts: Table
    acts: Table
    zone: ZoneInfo
    late_items: int = 0

    def time_zone(self) -> ZoneInfo:
        """Return the reporting time zone."""
        return self.zone

    def identity_of(self, entry: int) -> str:
        """Return how the person of a journal entry was identified; empty if it is not an act."""
        acts = self.acts.arrow.to_pylist()
        return next((row["identified"] for row in acts if row["entry"] == entry), "")

    def special(self) -> list[dict[str, Any]]:
        """Return the acts that a reviewer reads one by one.

        These are acts alone, in bulk or against a contradiction, and changes to the policy or the
        scope.
        """
        return [
            row
            for row in self.acts.arrow.to_pylist()
            if row["alone"] or row["in_bulk"] or row["override"] or row["kind"] in _CHANGES
        ]


def is_verified(row: Mapping[str, Any]) -> bool:
    """Return whether the name of an act's person is verified."""
    return bool(row["identified"].startswith(_VERIFIED))


def controls_of(acts: pa.Table, zone: ZoneInfo, late_items: int) -> Controls:
    """Return the controls of a month; `acts` has the columns of CONTROLS."""
    rows = acts.to_pylist()
    counts = []
    for kind in CONTROL_KINDS:
        own = [row for row in rows if row["kind"] == kind]
        counts.append(
            {
                "kind": kind,
                "people": ", ".join(sorted({row["who"] for row in own})),
                "acts": len(own),
                "verified": sum(map(is_verified, own)),
                "claimed": sum(not is_verified(row) for row in own),
                "alone": sum(row["alone"] for row in own),
                "in_bulk": sum(bool(row["in_bulk"]) for row in own),
                "overrides": sum(bool(row["override"]) for row in own),
            }
        )
    return Controls(
        counts=pa.Table.from_pylist(counts, CONTROL_COUNTS),
        acts=acts,
        zone=zone,
        late_items=late_items,
    )


def journaled_acts(
    journal: Journal, month: Month, *, seq: int, until: datetime | None = None
) -> pa.Table:
    """Return the acts of a month up to a journal entry, and not after `until`; as in CONTROLS."""
    entries = [
        entry
        for entry in journal.entries(_READ)
        if entry.seq <= seq and (until is None or entry.at <= until)
    ]
    keys = _policy_keys(entries)
    signatures = journal.signatures(SignatureRules(keys=keys)) if keys else {}
    closed = closed_periods(entry for entry in entries if entry.kind.startswith("period."))
    before = (period.entry.seq for name, period in closed.items() if name < str(month))
    rows = _rows(entries, max(before, default=0), signatures)
    return pa.Table.from_pylist(rows, schema=CONTROLS)


def policy_drafts(journal: Journal, policy: Policy, actor: Actor) -> list[Draft]:
    """Return the entry that journals the policy; empty if the last saved one is the same."""
    saved = journal.entries(POLICY_SAVED)
    if policy.hash == (saved[-1].subject if saved else Policy().hash):
        return []
    return [Draft(POLICY_SAVED, policy.hash, {"content": policy.text}, actor)]


@reads_entries
def _rows(
    entries: Iterable[Entry], last: int, signatures: Mapping[int, Signature]
) -> list[dict[str, Any]]:
    """Return the acts after the entry `last`, as rows of CONTROLS."""
    rows, policy = [], ""
    for entry in entries:
        kind = _kind_of(entry)
        body = entry.body
        reason = body.get("reason") or ""
        if entry.kind == POLICY_SAVED:
            old, new = tomllib.loads(policy), tomllib.loads(body["content"])
            parts = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
            reason = f"changed in policy.toml: {', '.join(parts) or 'its text only'}"
            policy = body["content"]
        if entry.kind == SCOPE_PROPOSED:
            reason = f"{reason}: {', '.join(body['accounts']) or 'every account is in scope'}"
        if kind and entry.seq > last:
            # An action that needs one person at most is decided by its proposer alone.
            needed = body.get("needed") if entry.kind == "action.proposed" else None
            override = "; ".join(body.get("despite") or ())
            if entry.kind == PAYEE_ACCEPTED:
                named = body.get("known_as") or "somebody with a similar name"
                override = f"the bank knows the payee as {named}"
            row = {"kind": kind, "who": entry.actor.name, "subject": entry.subject, "at": entry.at}
            rows.append(
                row
                | {
                    "identified": _identified(entry, signatures.get(entry.seq)),
                    "alone": bool(body.get("alone")) or needed in {0, 1},
                    "in_bulk": body.get(BULK) or (body.get(SHEET) or {}).get(BULK) or "",
                    "override": override,
                    "reason": reason,
                    "entry": entry.seq,
                    "act": entry.kind,
                }
            )
    return rows


def _kind_of(entry: Entry) -> str:
    """Return the kind of act of an entry; empty for entries that no person decides."""
    if entry.kind in {"action.done", "action.recovered"} and "carried_out" not in entry.body:
        return ""
    for name, kind in _KINDS_OF_ENTRIES.items():
        if entry.kind == name or (name[-1] in "._" and entry.kind.startswith(name)):
            return kind
    return ""


def _identified(entry: Entry, signature: Signature | None) -> str:
    """Return how the person was identified: by a signature, by the source of the name, or not."""
    if signature is not None and signature.state == "valid":
        return f"{_VERIFIED}signed key"
    actor = entry.actor
    if signature is not None and signature.state in {"wrong", "another's key"}:
        return f"{_CLAIMED}; its signature is {signature}"
    if actor.assurance == "verified" and actor.source in _SOURCES:
        return f"{_VERIFIED}{_SOURCES[actor.source]}"
    return _CLAIMED if actor.assurance == "claimed" else "not stated, as in earlier versions"


def _policy_keys(entries: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
    """Return the public keys in the last saved policy; empty if this version cannot read them."""
    saved = [entry for entry in entries if entry.kind == POLICY_SAVED]
    if not saved:
        return {}
    try:
        return read_keys(tomllib.loads(saved[-1].body["content"]).get("keys", {}))
    except InputError:
        return {}
