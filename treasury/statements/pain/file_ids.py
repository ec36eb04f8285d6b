"""Which payment files a bank line names: the one rule, for all who ask whether a debit is a file's.

A bank repeats a file's id in the line of its debit, in the place that ISO 20022 has for it or in a
text. It may break the id, write it in other letters, lengthen it or cut it off at the end of its
field. A whole id proves that the file is meant; an id that merely begins like another one is
another one. What carries the beginning alone proves nothing, and is reason enough to pay nothing of
the file: nobody knows what else that debit is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os.path import commonprefix
from typing import Any, Final

import msgspec

_IDS: Final = ("message_id", "payment_information_id")
_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance", "additional_information")
_BEGINNING: Final = 9
"""Letters and digits by which an id is told from all others: PAY and six of its hash."""


class NamedFiles(msgspec.Struct, frozen=True):
    """The ids of payment files that a line carries, and those that it may mean."""

    whole: frozenset[str]
    """Ids that stand there whole, broken or not."""
    perhaps: frozenset[str]
    """These, and ids of which the line carries the beginning, cut off, damaged or gone on with."""


class FileIds:
    """Ids of payment files, looked for in many lines."""

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
        """Those that a line names.

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
        """The ids that stand in a text, though blanks or the end of a line break them."""
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
    """Whether a character beside an id makes it a part of a longer one."""
    return char.isalnum() or char == "-"


def _plain(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text))
