"""Open items: all unsettled matters of a month, in one list for all screens and reports."""

from treasury.month.items.carry_proposals import (
    ACCEPTANCES,
    Acceptance,
    acceptance_table,
    acceptances,
    read_acceptances,
)
from treasury.month.items.carrying import CARRIED, Carrying
from treasury.month.items.decision_effects import EFFECTS, Effect, Effects, effects_between
from treasury.month.items.decision_items import ACTIONS, open_actions
from treasury.month.items.item_facts import Facts
from treasury.month.items.item_kinds import KINDS, TURNS, ItemKind
from treasury.month.items.materiality import LIMITS, Limits
from treasury.month.items.notes.attachments import (
    ATTACHMENTS,
    attached_in,
    attachment_table,
    pack_name,
)
from treasury.month.items.notes.item_owners import ITEM_OWNERS, owner_table
from treasury.month.items.notes.item_remarks import ITEM_REMARKS, item_remarks
from treasury.month.items.open_item import OPEN_ITEMS, OpenItem
from treasury.month.items.open_items import ItemGroup, OpenItems, open_items, read_items
from treasury.month.items.sheet.sheet_decisions import DecisionSheets, SheetPlan, SheetVerdict

__all__ = [
    "ACCEPTANCES", "ACTIONS", "ATTACHMENTS", "CARRIED", "EFFECTS", "ITEM_OWNERS", "ITEM_REMARKS",
    "KINDS", "LIMITS", "OPEN_ITEMS", "TURNS", "Acceptance", "Carrying", "DecisionSheets", "Effect",
    "Effects", "Facts", "ItemGroup", "ItemKind", "Limits", "OpenItem", "OpenItems", "SheetPlan",
    "SheetVerdict", "acceptance_table", "acceptances", "attached_in", "attachment_table",
    "effects_between", "item_remarks", "open_actions", "open_items", "owner_table", "pack_name",
    "read_acceptances", "read_items",
]  # fmt: skip
