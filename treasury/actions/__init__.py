"""Actions: approved writes to a payment service, each journaled before it is sent.

Each write has a kind. A kind (`KINDS`) declares the fields, the conditions, the sentence that
describes the action, the call and its credential, whether the call may be repeated, and how its
effect is found. The state of an action follows from its journal entries alone:

    a = t.actions.propose("crypto_transfer.create", sender_account_id=…, receiver_account_id=…,
                          chain="BASE", asset="USDC", amount="100.00", reason="invoice 2211")
    t.actions.approve(a.id)             # by a second person; journals the hash of the content
    t.actions.execute(a.id)             # sends it once; raises unless it is done
    t.actions.recover()                 # settles actions that a crash left open
    t.actions.list(state="done")        # -> [Action]; prints who proposed and approved each one
    t.actions.get("A-1").approvals      # -> (Approval(actor, at, reason, …), …)
    t.actions.reject(a.id, "wrong receiver"), .withdraw(a.id), .again(a.id)
    t.actions.settle(a.id, carried_out=False, reason="provider's mail of …")

Several actions can be confirmed at once, with totals by currency:

    shown = t.actions.batch("A-1", "A-2")       # .text, .lines, .totals, .hash
    t.actions.approve("A-1", "A-2", shown=shown)                # all or none
    t.actions.execute_all(["A-1", "A-2"], progress=…)           # -> [Ran(action, error)]

For a form, `field_names(kind_of(name).fields)` lists the fields and whether each is required.
`t.actions.draft(kind, live=…, **fields)` validates the fields and words the action without writing
anything; it returns a `Confirmation` with text, masked, facts, money, needed and content_hash.
`propose_drafts(c, nonce=…)` journals the confirmation. `carry_out(c, nonce=…)` proposes and
executes an action that needs only one person.

An InputError about a field begins with the field's name and a colon. An ActionRefused means that
the current facts or the policy forbid the action.

`Action`: id, kind, state (`states`), text, masked, facts, money, target, fields, needed, waits_for,
proposed_by, approvals, credential, reason, why, sending, outcome (record, response, status, how).
The permissions are in the workspace's `policy.toml` (`policy`).
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
"""Load the other modules on first use, because reading the policy does not need the API client."""
