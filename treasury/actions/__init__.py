"""Actions: writes to a payment service that people have agreed to, journaled before they leave.

Every write is a declared kind (`KINDS`): its fields, what has to be true, the sentence that says
what will happen, the call and its credential, how safe it is to send again, how its effect shows.
The life of an action is its entries in the journal and nothing else:

    a = t.actions.propose("crypto_transfer.create", sender_account_id=…, receiver_account_id=…,
                          chain="BASE", asset="USDC", amount="100.00", reason="invoice 2211")
    t.actions.approve(a.id)                     # a second person, on the hash of what is shown
    t.actions.execute(a.id)                     # once; raises unless it is done
    t.actions.recover()                         # settles what a crash left open
    t.actions.list(state="proposed")            # -> [Action]; .get("A-1") -> Action
    t.actions.reject(a.id, "wrong receiver"), .withdraw(a.id), .again(a.id)
    t.actions.settle(a.id, carried_out=False, reason="provider's mail of …")   # a person's word

Several at once, with one confirmation that totals them by currency:

    shown = t.actions.batch("A-1", "A-2")       # .text, .lines, .totals, .hash
    t.actions.approve("A-1", "A-2", shown=shown)                # all of them or none
    t.actions.execute_all(["A-1", "A-2"], progress=…)           # -> [Ran(action, error)]

For a form: `field_names(kind_of(name).fields)` gives the fields and whether each is needed;
`t.actions.draft(kind, live=…, **fields)` checks and words it without writing anything
(`Confirmation`: text, masked, facts, money, needed, content_hash). `propose_drafts(c, nonce=…)`
journals what was shown, `carry_out(c, nonce=…)` proposes and executes what one person may decide.
An error about a field is an InputError whose text begins with the field's name and a colon; what
the world or the policy does not allow is an ActionRefused.

`Action`: id, kind, state (`states`), text, masked, facts, money, target, fields, needed, waits_for,
proposed_by, approvals, credential, reason, why, sending, outcome (record, response, status, how).
Who may what is `policy.toml` in the workspace (`policy`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.core.machine.loading import given_names

if TYPE_CHECKING:
    from treasury.actions.action_facts import Fact, Moved, changed
    from treasury.actions.action_list import Batch
    from treasury.actions.action_states import OPEN, UNSETTLED, Action, Approval, Outcome
    from treasury.actions.all_actions import Actions, Ran
    from treasury.actions.drafting import Confirmation
    from treasury.actions.kinds.action_fields import field_names
    from treasury.actions.kinds.all_kinds import KINDS, kind_of
    from treasury.actions.kinds.kind import AssetAmount, Kind
    from treasury.actions.policies.policy import POLICY_FILE, Policy, load_policy
    from treasury.actions.seen_request import RampSeen, moved

__all__ = [
    "KINDS", "OPEN", "POLICY_FILE", "UNSETTLED", "Action", "Actions", "Approval", "AssetAmount",
    "Batch", "Confirmation", "Fact", "Kind", "Moved", "Outcome", "Policy", "RampSeen", "Ran",
    "changed", "field_names", "kind_of", "load_policy", "moved",
]  # fmt: skip

_NAMES = {
    "action_facts": ("Fact", "Moved", "changed"),
    "action_list": ("Batch",),
    "action_states": ("OPEN", "UNSETTLED", "Action", "Approval", "Outcome"),
    "all_actions": ("Actions", "Ran"),
    "policies.policy": ("POLICY_FILE", "Policy", "load_policy"),
    "drafting": ("Confirmation",),
    "kinds.action_fields": ("field_names",),
    "kinds.all_kinds": ("KINDS", "kind_of"),
    "kinds.kind": ("AssetAmount", "Kind"),
    "seen_request": ("RampSeen", "moved"),
}
__getattr__ = given_names(
    __name__, {name: module for module, names in _NAMES.items() for name in names}
)
"""Whoever asks for a policy does not need the client of the services."""
