"""Recognition of payment file ids in bank lines: the one rule for whether a debit is a file's.

A bank repeats a file's id in the line of its debit, in its ISO 20022 field or in a text. It may
break the id, change its case, append text, or cut it off at the end of the field. A complete id
proves that the file is meant; a longer id that begins like it is another id. The beginning alone
proves nothing, but it is reason enough to pay nothing of the file: the debit may be that file's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os.path import commonprefix
from typing import Any, Final

import msgspec

_IDS: Final = ("message_id", "payment_information_id")
_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance", "additional_information")
_BEGINNING: Final = 9
"""Length that distinguishes ids: PAY and six characters of its hash."""


class NamedFiles(msgspec.Struct, frozen=True):
    """Ids of payment files in a line: certain ones, and possible ones."""

    whole: frozenset[str]
    """Ids that occur completely, even if broken."""
    perhaps: frozenset[str]
    """Ids of which the line has at least the beginning: cut off, damaged or continued."""


class FileIds:
    """Ids of payment files to find in many lines."""

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
        """Return the ids in a line.

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
        """Return the complete ids in a text, even if blanks or line ends break them."""
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
    """Where in a text something starts so."""
    place = text.find(start)
    while 0 <= place < len(text):
        yield place
        place = text.find(start, place + 1)


def _goes_on(char: str) -> bool:
    """Return whether a character next to an id makes it part of a longer id."""
    return char.isalnum() or char == "-"


def _plain(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))
