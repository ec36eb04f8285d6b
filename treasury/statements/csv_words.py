"""The words that banks write in CSV files, as they are compared: what a cell or label means."""

from __future__ import annotations

from typing import Final

__all__ = ["IN", "LABELS", "OUT", "SIGNS", "STATUS", "TOTALS"]

TOTALS: Final = (
    "total", "totaal", "totale", "summe", "sum", "saldo", "solde", "balance", "endsaldo", "somme",
    "anfangssaldo", "beginsaldo", "eindsaldo", "kontostand", "openingbalance", "closingbalance",
    "umsatz", "razem", "suma", "bokfort",
)  # fmt: skip
SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP"}
OUT: Final = frozenset({"d", "dr", "debit", "debet", "af", "soll", "s", "debito", "out", "dbit"})
IN: Final = frozenset({"c", "cr", "credit", "bij", "haben", "h", "credito", "in", "crdt", "kredit"})
_BOOKED: Final = (
    "booked", "completed", "gebucht", "umsatzgebucht", "geaccepteerd", "accepte", "accepted",
    "executed", "settled", "posted", "verarbeitet",
)  # fmt: skip
_PENDING: Final = ("pending", "vorgemerkt", "umsatzvorgemerkt", "inbehandeling", "processing",
                   "created", "encours")  # fmt: skip
_FAILED: Final = ("declined", "failed", "reverted", "refuse", "geweigerd", "rejected", "cancelled",
                  "canceled", "refused")  # fmt: skip
STATUS: Final = {
    **dict.fromkeys(_BOOKED, "BOOK"),
    **dict.fromkeys(_PENDING, "PDNG"),
    **dict.fromkeys(_FAILED, "INFO"),
}
LABELS: Final = {
    **dict.fromkeys(("iban",), "iban"),
    **dict.fromkeys(
        ("accountnumber", "account", "konto", "kontonummer", "numerodiconto", "numerodecompte",
         "compte", "conto", "rekening", "rekeningnummer", "kartenkonto", "cuenta",
         "girokonto", "tagesgeld"), "account"),
    **dict.fromkeys(
        ("openingbalance", "saldoiniziale", "anfangssaldo", "soldeinitial", "beginsaldo",
         "alterkontostand", "startsaldo"), "opening"),
    **dict.fromkeys(
        ("closingbalance", "saldofinale", "schlusssaldo", "soldefinal", "eindsaldo", "endsaldo"),
        "closing"),
    **dict.fromkeys(
        ("valuedin", "valutazionein", "bewertetin", "evalueen", "currency", "wahrung", "devise",
         "moneta", "monnaie", "munt"), "currency"),
}  # fmt: skip
