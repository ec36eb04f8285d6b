"""Which payment files a bank line names: the one rule, for all who ask whether a debit is a file's.

A bank repeats a file's id in the line of its debit, in the place that ISO 20022 has for it or in a
text. It may break the id, write it in other letters, lengthen it or cut it off at the end of its
field. A whole id proves that the file is meant; an id that merely begins like another one is
another one. What carries the beginning alone proves nothing, and is reason enough to pay nothing of
the file: nobody knows what else that debit is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec

__all__ = ["NamedFiles", "named_files"]

_IDS: Final = ("message_id", "payment_information_id")
_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance", "additional_information")
_BEGINNING: Final = 12
"""Letters and digits by which an id is told from all others: PAY and nine of its hash."""


class NamedFiles(msgspec.Struct, frozen=True):
    """The ids of payment files that a line carries, and those that it may mean."""

    whole: frozenset[str]
    """Ids that stand there whole, broken or not."""
    perhaps: frozenset[str]
    """These, and ids of which the line carries the beginning, cut off, damaged or gone on with."""


def named_files(line: Mapping[str, Any], message_ids: AbstractSet[str]) -> NamedFiles:
    """Those of the ids of payment files that a line names.

    The line has the columns `message_id`, `payment_information_id`, `end_to_end_id`,
    `creditor_reference`, `remittance` and `additional_information`, each text or None.
    """
    ids = {message.upper(): message for message in message_ids if message}
    places = [line[name].upper() for name in _IDS if line[name]]
    texts = [line[name].upper() for name in _TEXTS if line[name]]
    whole = {ids[place.strip()] for place in places if place.strip() in ids}
    whole.update(ids[found] for text in texts for found in _ids_in(text, ids.keys()))
    plain = [_plain(text) for text in (*places, *texts)]
    perhaps = {
        message
        for folded, message in ids.items()
        if len(beginning := _plain(folded)[:_BEGINNING]) == _BEGINNING
        and any(beginning in text for text in plain)
    }
    return NamedFiles(frozenset(whole), frozenset(whole | perhaps))


def _ids_in(text: str, message_ids: AbstractSet[str]) -> Iterable[str]:
    """The ids that stand in a text, though blanks or the end of a line break them."""
    places = [place for place, char in enumerate(text) if not char.isspace()]
    unbroken = "".join(text[place] for place in places)
    for size in {len(message) for message in message_ids}:
        for begin in range(len(unbroken) - size + 1):
            written = unbroken[begin : begin + size]
            if written in message_ids:
                before, after = text[: places[begin]], text[places[begin + size - 1] + 1 :]
                if not (_goes_on(before[-1:]) or _goes_on(after[:1])):
                    yield written


def _goes_on(char: str) -> bool:
    """Whether a character beside an id makes it a part of a longer one."""
    return char.isalnum() or char == "-"


def _plain(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text))
