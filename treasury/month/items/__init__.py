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
from treasury.month.items.open_items import ItemGroup, OpenItems, open_items, open_now, read_items
from treasury.month.items.sheet.sheet_decisions import DecisionSheets, SheetPlan, SheetVerdict
from treasury.month.items.sheet.sheet_input import FilledRow, fill_row
from treasury.month.items.sheet.sheet_rows import SHOWN_ACTS, DecisionRow, SheetChoice

__all__ = [
    "ACCEPTANCES", "ACTIONS", "ATTACHMENTS", "CARRIED", "EFFECTS", "ITEM_OWNERS", "ITEM_REMARKS",
    "KINDS", "LIMITS", "OPEN_ITEMS", "SHOWN_ACTS", "TURNS", "Acceptance", "Carrying", "DecisionRow",
    "DecisionSheets", "Effect", "Effects", "Facts", "FilledRow", "ItemGroup", "ItemKind", "Limits",
    "OpenItem", "OpenItems", "SheetChoice", "SheetPlan", "SheetVerdict", "acceptance_table",
    "acceptances", "attached_in", "attachment_table", "effects_between", "fill_row", "item_remarks",
    "open_actions", "open_items", "open_now", "owner_table", "pack_name", "read_acceptances",
    "read_items",
]  # fmt: skip
