"""What is open: one list, of which every surface shows rows and counts rows."""

from treasury.items.acceptance import ACCEPTANCES, Acceptance, acceptances
from treasury.items.carrying import CARRIED, Carrying
from treasury.items.decisions import ACTIONS, open_actions
from treasury.items.effects import EFFECTS, Effect, Effects, effects_between
from treasury.items.facts import Facts
from treasury.items.item import OPEN_ITEMS, OpenItem
from treasury.items.kinds import KINDS, TURNS, ItemKind
from treasury.items.listing import ItemGroup, OpenItems, open_items, read_items
from treasury.items.materiality import LIMITS, Limits, limits_in_force

__all__ = [
    "ACCEPTANCES",
    "ACTIONS",
    "CARRIED",
    "EFFECTS",
    "KINDS",
    "LIMITS",
    "OPEN_ITEMS",
    "TURNS",
    "Acceptance",
    "Carrying",
    "Effect",
    "Effects",
    "Facts",
    "ItemGroup",
    "ItemKind",
    "Limits",
    "OpenItem",
    "OpenItems",
    "acceptances",
    "effects_between",
    "limits_in_force",
    "open_actions",
    "open_items",
    "read_items",
]
