"""The time zone of a bank, by the country of the account: for the day of an instant in UTC."""

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
"""For countries with several zones, the zone that its banks use."""


def bank_zone(account: str | None, bic: str | None) -> ZoneInfo | None:
    """Return the zone of the country in the IBAN, else in the bank's BIC; None if it is unknown.

    A country with several zones counts only if its banks are all in one of them.
    """
    if account is not None and is_iban(account):
        return _zone_of(account[:2])
    return _zone_of(bic[4:6]) if bic is not None and is_bic(bic) else None


@cache
def _zone_of(country: str) -> ZoneInfo | None:
    # Zones of each country in the time zone database.
    table = resources.files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8")
    names = [line.split("\t")[2] for line in table.splitlines() if line.startswith(f"{country}\t")]
    name = _CAPITALS.get(country) or (names[0] if len(names) == 1 else None)
    return None if name is None else ZoneInfo(name)
