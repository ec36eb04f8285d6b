"""The words that banks write in CSV files, as they are compared: what a cell or label means."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "BALANCES", "CODE", "CURRENCY_MARK", "IN", "LABELS", "OUT", "SIGNS", "STATUS", "TOTALS",
    "TOTAL_ENDS", "TURNOVERS",
]  # fmt: skip

TOTALS: Final = frozenset({
    "total", "totals", "totaal", "totale", "totali", "totales", "totaux", "totais", "summe", "sum",
    "somme", "summa", "suma", "razem", "gesamt", "yhteensa", "kokku", "celkem", "osszesen",
    "lacznie", "solde", "sold", "kontostand", "umsatz", "umsatze", "umsatzsumme", "bokfort",
    "openingbalance", "closingbalance", "startingbalance", "endingbalance", "beginningbalance",
})  # fmt: skip
"""The first word, or the first two, of what says that a row without a day is a total."""
TOTAL_ENDS: Final = ("saldo", "summe", "balance", "total", "totaal")
TURNOVERS: Final = frozenset({"kaive", "apgrozijums", "apyvarta", "turnover", "obraty", "obroty"})
"""What a row with a day is called that only sums up others."""
SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "zł": "PLN", "Kč": "CZK", "Ft": "HUF"}
CURRENCY_MARK: Final = "|".join(("[A-Z]{3}", *map(re.escape, SIGNS), "kr"))
"""What stands for a currency beside an amount; `kr` does not say which."""
CODE: Final = re.compile(
    rf"^[A-Z]{{3}}(?![A-Z])|(?<![A-Z])[A-Z]{{3}}$|{'|'.join(map(re.escape, SIGNS))}"
)
"""A currency at the beginning or end of a text, or its sign anywhere."""
OUT: Final = frozenset({
    "belastung", "addebito", "lastschrift",
    "d", "dr", "debit", "debet", "deebet", "af", "soll", "s", "debito", "out", "dbit", "wn",
})  # fmt: skip
IN: Final = frozenset({
    "gutschrift", "accredito",
    "c", "cr", "credit", "bij", "haben", "h", "credito", "in", "crdt", "k", "kredit", "kreedit",
    "ma",
})  # fmt: skip
_BOOKED: Final = (
    "booked", "completed", "gebucht", "umsatzgebucht", "geaccepteerd", "accepte", "accepted",
    "executed", "settled", "posted", "verarbeitet", "udført", "bokført", "bokford", "verwerkt",
    "uitgevoerd", "comptabilise", "execute", "contabilizzato", "eseguito", "completado",
    "ejecutado", "abgeschlossen", "termine", "terminee", "terminado", "completato", "completata",
    "completada", "voltooid", "zakonczono", "zakonczona", "concluido", "concluida", "slutfort",
    "dokonceno", "zaksiegowana", "zaksiegowano", "rozliczona", "zauctovano", "successful",
)  # fmt: skip
_PENDING: Final = ("pending", "vorgemerkt", "umsatzvorgemerkt", "inbehandeling", "processing",
                   "created", "encours", "enattente", "inattesa", "pendiente", "venter",
                   "reservert", "reserverad", "varaus", "oczekujaca", "authorised",
                   "authorized")  # fmt: skip
_FAILED: Final = ("declined", "failed", "reverted", "refuse", "geweigerd", "rejected", "cancelled",
                  "canceled", "refused", "annule", "annullato", "slettet",
                  "abgelehnt", "storniert", "geannuleerd")  # fmt: skip
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
         "alterkontostand", "startsaldo", "beginningbalance", "startingbalance", "saldopoczatkowe",
         "algsaldo", "sakumaatlikums", "pradinislikutis", "likutispradziai", "pocatecnizustatek",
         "nyitoegyenleg",
         "ingaendesaldo", "inngaendesaldo"), "opening"),
    **dict.fromkeys(
        ("closingbalance", "saldofinale", "schlusssaldo", "soldefinal", "eindsaldo", "endsaldo",
         "endingbalance", "neuerkontostand", "saldokoncowe", "loppsaldo", "beiguatlikums",
         "galutinislikutis", "likutispabaigai",
         "konecnyzustatek", "zaroegyenleg", "utgaendesaldo"), "closing"),
    **dict.fromkeys(
        ("valuedin", "valutazionein", "bewertetin", "evalueen", "currency", "wahrung", "devise",
         "moneta", "monnaie", "munt"), "currency"),
}  # fmt: skip
BALANCES: Final = frozenset(
    label for label, role in LABELS.items() if role in {"opening", "closing"}
)
"""What a row with a day is called that states a balance where others state what moved."""
