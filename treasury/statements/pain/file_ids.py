"""Which payment files a bank line names: by the ids that they were given, whole and nothing more.

A bank repeats a file's id in the line of its debit, in the place that ISO 20022 has for it or in a
text, where it may break the id at the end of a field. An id that merely begins like another one is
another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

__all__ = ["named_files"]

_IDS: Final = ("message_id", "payment_information_id")
_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance")


def named_files(line: Mapping[str, Any], message_ids: AbstractSet[str]) -> frozenset[str]:
    """Those of the ids of payment files that a line carries.

    The line has the columns `message_id`, `payment_information_id`, `end_to_end_id`,
    `creditor_reference` and `remittance`, each text or None.
    """
    named = {line[name] for name in _IDS} & message_ids
    texts = (line[name] for name in _TEXTS if line[name])
    return frozenset(named).union(*(_ids_in(text, message_ids) for text in texts))


def _ids_in(text: str, message_ids: AbstractSet[str]) -> Iterable[str]:
    """The ids that stand in a text, though blanks or the end of a line break them."""
    places = [place for place, char in enumerate(text) if not char.isspace()]
    unbroken = "".join(text[place] for place in places)
    for size in {len(message) for message in message_ids if message}:
        for begin in range(len(unbroken) - size + 1):
            written = unbroken[begin : begin + size]
            if written in message_ids:
                before, after = text[: places[begin]], text[places[begin + size - 1] + 1 :]
                if not (_goes_on(before[-1:]) or _goes_on(after[:1])):
                    yield written


def _goes_on(char: str) -> bool:
    """Whether a character beside an id makes it a part of a longer one."""
    return char.isalnum() or char == "-"
