"""Time zones of banks by country, to convert an instant in UTC to the bank's day."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final
from zoneinfo import ZoneInfo

from treasury.core.identifiers import is_bic, is_iban

_CAPITALS: Final = {
    "CY": "Asia/Nicosia",
    "DE": "Europe/Berlin",
    "ES": "Europe/Madrid",
    "PT": "Europe/Lisbon",
    "UA": "Europe/Kyiv",
}
"""Zone of the banks in countries that have several zones."""


def bank_zone(account: str | None, bic: str | None) -> ZoneInfo | None:
    """Return the zone of the country in the IBAN, else in the bank's BIC; None if it is unknown.

    For a country with several zones, return None unless all its banks are in one of them.
    """
    if account is not None and is_iban(account):
        return _zone_of(account[:2])
    return _zone_of(bic[4:6]) if bic is not None and is_bic(bic) else None


@cache
def _zone_of(country: str) -> ZoneInfo | None:
    # The time zone database lists the zones of each country.
    table = resources.files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8")
    names = [line.split("\t")[2] for line in table.splitlines() if line.startswith(f"{country}\t")]
    name = _CAPITALS.get(country) or (names[0] if len(names) == 1 else None)
    return None if name is None else ZoneInfo(name)
