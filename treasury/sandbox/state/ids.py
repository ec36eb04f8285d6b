"""Identifiers drawn from the seed: UUIDs, addresses, hashes, account numbers, codes.

Each subject has its own random stream (`streams.of("credits")`), so that more draws for one subject
do not change other subjects.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final
from uuid import UUID

_ALPHABET: Final = (
    # The alphabet excludes letters and digits that people confuse, such as O and 0, or S and 5.
    "ACDEFGHJKLMNPQRTUVWXY346789"
)


class Streams:
    """Independent random streams from one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, subject: str) -> Random:
        """Return a subject's random stream; each call restarts it."""
        return Random(f"{self._seed}/{subject}")  # noqa: S311 - a story is told, nothing is secured


class Ids:
    """Source of identifiers, drawn from one stream."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def uuid(self) -> str:
        """Return a version 4 UUID."""
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def address(self) -> str:
        """Return a wallet address of an EVM chain."""
        return f"0x{self._random.getrandbits(160):040x}"

    def hash(self) -> str:
        """Return a random transaction hash."""
        return f"0x{self._random.getrandbits(256):064x}"

    def token(self) -> str:
        """Return an opaque access token."""
        return f"{self._random.getrandbits(256):064x}"

    def below(self, end: int) -> int:
        """Return an integer from 0 to `end` - 1."""
        return self._random.randrange(end)

    def reference_code(self) -> str:
        """Return a reference code for a virtual account, in the form XXX-XXXX-NNN."""
        middle = "".join(self._random.choices(_ALPHABET, k=4))
        return f"VFY-{middle}-{self._random.randrange(100, 1000)}"

    def iban(self, country: str) -> str:
        """Return an IBAN of an invented bank."""
        return iban(country, _BBAN[country](self._random))


def iban(country: str, bban: str) -> str:
    """Return the IBAN for a national account number (ISO 13616: mod 97-10)."""
    return f"{country}{98 - _digits(bban + country + '00') % 97:02d}{bban}"


def is_iban(text: str) -> bool:
    """Return whether an IBAN's check digits are valid."""
    return len(text) > 4 and text.isalnum() and _digits(text[4:] + text[:4]) % 97 == 1


def _digits(text: str) -> int:
    return int("".join(str(int(character, 36)) for character in text))


def _after(bank: str, digits: int, *, checked: bool = False) -> Callable[[Random], str]:
    """Return the digits after the bank code; `checked` ends them with check digits (modulo 97)."""

    def number(random: Random) -> str:
        stem = f"{bank}{random.randrange(10**digits):0{digits}d}"
        return f"{stem}{int(stem) % 97 or 97:02d}" if checked else stem

    return number


_BBAN: Final[dict[str, Callable[[Random], str]]] = {
    "BE": _after("539", 7, checked=True),
    "NL": _after("TEST", 10),
    "DE": _after("99999999", 10),
    "LT": _after("32500", 11),
}
