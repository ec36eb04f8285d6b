"""Search for the ids of payment files in bank lines, to decide which file a debit pays.

In the line of a debit the bank repeats the file's id, in its ISO 20022 field or in a text. It may
break the id, change its case, append text, or cut it off at the end of the field. A complete id
proves that the debit is the file's; a longer id with the same beginning is a different id. The
beginning alone proves nothing, but then the file must not be paid again, because the debit may be
that file's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os.path import commonprefix
from typing import Any, Final

import msgspec

_IDS: Final = ("message_id", "payment_information_id")
_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance", "additional_information")
_BEGINNING: Final = 9
"""Number of leading characters that distinguish ids: PAY and six characters of the file's hash."""


class NamedFiles(msgspec.Struct, frozen=True):
    """Ids of payment files in a line, either certain or possible."""

    whole: frozenset[str]
    """Ids that occur completely, even if line breaks or blanks interrupt them."""
    perhaps: frozenset[str]
    """Ids whose beginning is in the line; the rest may be missing or different."""


class FileIds:
    """Index of payment file ids, to find them in many lines."""

    def __init__(self, message_ids: Iterable[str]) -> None:
        self._ids = {message.upper(): message for message in message_ids if message}
        self._sizes = {len(folded) for folded in self._ids}
        self._start = commonprefix(list(self._ids))  # noqa: RUF071 - of ids, not of paths
        self._beginnings: dict[str, set[str]] = {}
        for folded, message in self._ids.items():
            if len(beginning := _plain(folded)[:_BEGINNING]) == _BEGINNING:
                self._beginnings.setdefault(beginning, set()).add(message)
        self._plain_start = commonprefix(list(self._beginnings))  # noqa: RUF071 - as above

    def named(self, line: Mapping[str, Any]) -> NamedFiles:
        """Return the payment file ids in a line.

        The line has the columns `message_id`, `payment_information_id`, `end_to_end_id`,
        `creditor_reference`, `remittance` and `additional_information`, each text or None.
        """
        places = [line[name].upper() for name in _IDS if line[name]]
        texts = [line[name].upper() for name in _TEXTS if line[name]]
        whole = {self._ids[id_] for place in places if (id_ := place.strip()) in self._ids}
        perhaps = set(whole)
        for text in texts:
            whole.update(self._whole_in(text))
        for text in map(_plain, (*places, *texts) if self._beginnings else ()):
            for begin in _each(self._plain_start, text):
                perhaps |= self._beginnings.get(text[begin : begin + _BEGINNING], set())
        return NamedFiles(frozenset(whole), frozenset(whole | perhaps))

    def _whole_in(self, text: str) -> Iterator[str]:
        """Yield the complete ids in a text, even if blanks or line ends interrupt them."""
        places = [place for place, char in enumerate(text) if not char.isspace()]
        unbroken = "".join(text[place] for place in places)
        for begin in _each(self._start, unbroken):
            for size in self._sizes:
                written = unbroken[begin : begin + size]
                if len(written) == size and written in self._ids:
                    before, after = text[: places[begin]], text[places[begin + size - 1] + 1 :]
                    if not (_goes_on(before[-1:]) or _goes_on(after[:1])):
                        yield self._ids[written]


def _each(start: str, text: str) -> Iterator[int]:
    """Yield the positions at which a text contains `start`."""
    place = text.find(start)
    while 0 <= place < len(text):
        yield place
        place = text.find(start, place + 1)


def _goes_on(char: str) -> bool:
    """Return whether the character next to an id makes it part of a longer id."""
    return char.isalnum() or char == "-"


def _plain(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))
