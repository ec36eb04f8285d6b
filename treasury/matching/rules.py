"""The rules of matching and ageing as data: a frozen struct, loadable from TOML, with a hash.

Every result carries the hash of its rules. Invalid rules (a negative number, an invalid pattern, a
class that every line meets) are refused both when they are read and when they are used.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.coins import NATIVE_COINS
from treasury.core.decoding import convert
from treasury.core.errors import SettingsError
from treasury.core.files.package_files import package_toml
from treasury.core.files.regular_files import read_settings
from treasury.core.money import CURRENCIES
from treasury.core.text import service_code
from treasury.core.toml_text import parse_toml

Size = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Written = Annotated[str, msgspec.Meta(min_length=1)]
_Pair = Annotated[str, msgspec.Meta(pattern="^[A-Z0-9]+/[A-Z0-9]+$")]

LineClass = Literal["bank_charge", "own_transfer", "other_business", "conversion_sweep"]
StructuredKind = Literal["RF", "QRR", "OGM"]
"""ISO 11649 creditor references, Swiss QR references, Belgian structured communications."""


class ClassRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A class of lines that are excluded from matching: the lines that meet every condition.

    `bank_transaction_code` is an RE2 pattern that matches from the start of the ISO 20022 code
    (`PMNT/ICDT/SALA`). `remittance` and `counterparty_name` are RE2 patterns that are searched
    without regard to case. `account` and `counterparty_account` are whole accounts. `source` is
    that of the line's account, `direction` that of the line. A rule that tests texts, but neither
    the code nor the counterparty's account, never applies to a credit, because the payer wrote the
    text. No rule applies to a return.
    """

    name: str
    line_class: LineClass
    source: Literal["own_bank", "provider_report"] | None = None
    account: str | None = None
    direction: Literal["CRDT", "DBIT"] | None = None
    bank_transaction_code: str | None = None
    counterparty_account: str | None = None
    counterparty_name: str | None = None
    remittance: str | None = None


_STANDARD: Final = package_toml("treasury.matching", "standard_classes.toml")["classes"]
_STANDARD_CLASSES: Final = convert(_STANDARD, tuple[ClassRule, ...])


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of matching and ageing; each has its default here."""

    min_segment: Size = 8
    """A code with fewer letters and digits proves a match only in a structured field, after a
    label, with the exact amount or from a known payer. It is never read from an RF reference."""
    min_code: Size = 5
    """Minimum number of letters and digits of a code that is read between slashes."""
    labels: tuple[_Written, ...] = (
        "REF", "REFERENCE", "REFERENZ", "REFERENTIE", "REFERENCIA", "REFERENS", "INVOICE", "INV",
        "PAY", "PAYMENT", "ORDER", "CODE", "RECHNUNG", "RECHNUNGSNR", "RECHNUNGSNUMMER", "RECHN",
        "RE", "RENR", "RG", "RGNR", "RN", "RNR", "FACTUUR", "FACTUURNR", "FACTUURNUMMER", "FAKTUUR",
        "KENMERK", "BETALINGSKENMERK", "FACTURE", "FACT", "FAC", "FACTURA", "FRA", "FATURA",
        "FATTURA", "FATT", "FAKTURA", "FAKTURANR", "FAKTURANUMMER", "FAKTURY", "FAKTURU", "FAKTURE",
        "FAKTUR", "FV", "FAKTURA VAT", "LASKU", "LASKUN", "LASKUNUMERO", "LASKUNRO", "VIITE",
        "VIITENUMERO", "VIITENUMBER", "VIITENRO", "ARVE", "ARVENR", "REKINS", "SASKAITA", "RACUN",
        "SZAMLA", "SZAMLASZAM", "VS", "VARIABILNI SYMBOL", "VARIABILNY SYMBOL", "VAR SYMBOL", "OCR",
        "KID", "REIKNINGUR", "ФАКТУРА", "ΤΙΜΟΛΟΓΙΟ",
    )  # fmt: skip
    """Words that announce a reference; upper case, without accents or the word for "number"."""
    weak_labels: tuple[_Written, ...] = (
        "REF", "REFERENCE", "REFERENZ", "REFERENTIE", "REFERENCIA", "REFERENS", "PAY", "PAYMENT",
        "ORDER", "CODE", "RE", "KENMERK", "VIITE", "VIITENUMERO", "VIITENUMBER", "VIITENRO", "OCR",
        "KID",
    )  # fmt: skip
    """Labels that banks and other parties use too. They are accepted as labels only at the
    beginning of a phrase, after another label, or after one of `label_openers`."""
    label_openers: tuple[_Written, ...] = (
        "YOUR", "THE", "FOR", "WITH", "PER", "BY", "RE", "IHRE", "IHR", "MIT", "ZUR", "UW", "MET",
        "VOTRE", "VOS", "AVEC", "SU", "CON", "VOSTRA", "VOSTRO", "VAR", "ERES",
    )  # fmt: skip
    """Words that may precede a label that announces our number; letters and digits, upper case."""
    other_numbers: tuple[_Written, ...] = (
        "OUR", "OURS", "MY", "UNSER", "UNSERE", "UNSEREN", "MEIN", "MEINE", "NOTRE", "NOS", "MON",
        "MA", "ONZE", "ONS", "MIJN", "NUESTRA", "NUESTRO", "MI", "NOSTRA", "NOSTRO", "NASZ",
        "NASZA", "MEIDAN", "THEIR", "HIS", "HER", "CLIENT", "CUSTOMER", "KUNDE", "KUNDEN", "KLANT",
        "KLANTEN", "CLIENTE", "MEMBER", "DEBTOR", "DEBITOR", "CREDITOR", "SUPPLIER", "VENDOR",
        "LIEFERANT", "FOURNISSEUR", "LEVERANCIER", "TENANT", "ACCOUNT", "ACCT", "KONTO", "CONTRACT",
        "VERTRAG", "POLICY", "INTERNAL", "EMPLOYEE", "USER", "SENDER", "PAYER", "PURCHASE", "PO",
        "MANDATE", "MANDAT", "AUTH", "AUTHORISATION", "AUTHORIZATION", "SEPA", "BANK", "BATCH",
        "TRANSACTION", "TRANSFER", "TRX", "TXN", "TRN", "CARD", "TERMINAL", "SWIFT", "TAX", "VAT",
        "NO", "NR", "NUM", "NUMBER", "NUMMER", "NUMERO", "ID", "AND", "OR", "UND", "ODER", "EN",
        "OF", "ET", "OU", "Y", "O", "E",
    )  # fmt: skip
    """Words before a label that announce a number of another party, a number of the bank, or a
    second number; letters and digits, upper case."""
    legal_forms: tuple[_Written, ...] = (
        "BV", "NV", "GMBH", "AG", "KG", "SE", "SA", "SAS", "SARL", "SRL", "SPA", "LTD", "LIMITED",
        "LLC", "PLC", "INC", "CO", "OY", "AB", "AS", "APS", "SP", "Z", "O", "UAB", "OU", "B", "V",
        "N", "S", "A", "R", "L", "MR", "MRS", "MS", "AND", "THE", "DE", "VAN", "DER", "DEN", "LA",
        "SL", "SLU", "RL", "SRO", "OO", "DOO", "OYJ", "ASA", "UG", "MBH", "OHG", "KGAA", "EK", "EV",
        "CV", "VOF", "BVBA", "SPRL", "SNC", "SASU", "EURL", "LDA", "LLP", "LP", "PTY", "CORP",
        "COMPANY", "KFT", "ZRT", "SIA", "OOD", "EOOD", "UND", "ET",
        "U", "E", "EN", "I", "OG", "OCH", "Y",
    )  # fmt: skip
    """Words of a name that are ignored when names are compared."""
    over_tolerance: Decimal = Decimal("1.00")
    """If a payment exceeds the remaining amount by more than this, a person decides, unless its
    payer is known."""
    usual_charges: tuple[Decimal, ...] = ()
    """Charges that intermediary banks may deduct: a payment that is short by one of these may
    belong to another request."""
    cut_lengths: tuple[Size, ...] = (
        16, 18, 20, 25, 27, 30, 32, 35, 50, 60, 65, 70, 78, 80, 100, 105, 108, 140,
    )  # fmt: skip
    """Lengths, in characters or octets, at which banks cut off a text.

    A list in `rules.toml` replaces this one, so repeat the lengths to keep.
    """
    placeholders: tuple[_Written, ...] = (
        "NOTPROVIDED", "NOTAVAILABLE", "NOTAPPLICABLE", "NONREF", "NOREF", "NOREFERENCE", "NONE",
        "NA", "UNKNOWN",
    )  # fmt: skip
    """Texts that banks write into a field without a reference; letters and digits, upper case."""
    max_words: Size = 5
    """Maximum number of words into which a code may be split."""
    max_text: Size = 2000
    """Number of characters of a field that are searched for split and damaged references. A line
    with a longer field is left to a person."""
    structured: tuple[StructuredKind, ...] = ("RF",)
    """Kinds of references with check digits. Such a reference proves a line by itself, in whatever
    groups its characters are printed."""
    remittance_limit: Size = 140
    """A remittance text of at least this length may have been cut off at its end."""
    reference_limit: Size = 35
    """An end-to-end id or a creditor reference of at least this length may have been cut off."""
    min_damaged: Size = 8
    """Least number of letters and digits of a token that may be a damaged reference; one less if a
    code has exactly this many."""
    look_alikes: tuple[tuple[_Written, _Written], ...] = (
        ("O", "0"), ("I", "1"), ("L", "1"), ("OI", "01"), ("OIL", "011"), ("0", "O"), ("1", "I"),
        ("01", "OI"),
    )  # fmt: skip
    """Letters and digits as written, each with the one that it may mean. Letters of other scripts
    are compared by Unicode's confusables."""
    max_alike: Count = 20
    """A damaged text that fits more codes than this is not evidence, unless the amount agrees."""
    window_days: Count = 30
    """Without a reference, a line is suggested up to this many days after the request was made, and
    a refund up to this many days after the payment."""
    max_same_code: Size = 20
    """If a code has more expectations than this, a person decides; `max_candidates` of them are
    considered, and as many with the line's amount. If more expectations than this are one slip
    (typing error) away, only the first are considered."""
    max_candidates: Size = 5
    """Maximum number of candidates of a line."""
    max_lessons: Size = 4
    """Number of a payer's latest payments, for each expectation or counterparty, from which the
    purpose of a payment without a reference is inferred."""
    usual_days: Count = 3
    """Maximum distance in days of the month at which payments count as made around the same day."""
    max_pool: Count = 40
    """Maximum number of open requests, or lines, of one counterparty among which sums are searched.
    """
    max_sum_steps: Count = 200_000
    """Maximum number of pairs of requests that the search for sums compares, earliest lines first.
    """
    contradicting_statuses: tuple[_Written, ...] = (
        "CANCELLED", "CANCELED", "REJECTED", "DENIED", "FAILED", "BLOCKED", "CLOSED", "EXPIRED",
    )  # fmt: skip
    """Statuses of the service that contradict a match."""
    ours_target_days: Count = 1
    """Our deadline: an approved request is due at the end of this many TARGET days after its
    approval (policy). For currencies other than the euro, calendar days are counted."""
    theirs_target_days: Count = 1
    """The provider's deadline: the service reacts to a standard SEPA payment within this many
    TARGET days, and to a payment in another currency within as many calendar days."""
    unreferenced_hours: Count = 48
    """The provider's deadline for a virtual-account credit without its reference, in hours
    (weekends included)."""
    late_target_days: Count = 2
    """After its due date, a payment is late for this many TARGET days, then missing. For currencies
    other than the euro, calendar days are counted."""
    conversion_band: Decimal = Decimal(2)
    """Per cent by which the implied rate of a conversion may be outside the range of recorded
    rates."""
    one_to_one: tuple[_Pair, ...] = ("EUR/EURC",)
    """Conversions at exactly one to one, for which no deviation is allowed, so no fee either."""
    coins_at_par: tuple[_Pair, ...] = ("USDC/USD", "USDT/USD", "USDS/USD", "EURC/EUR")
    """Coins that are valued one to one in a currency if no rate file has them."""
    classes: tuple[ClassRule, ...] = ()
    """The company's classes of other business. A line belongs to the first class that it meets."""
    standard_classes: tuple[ClassRule, ...] = _STANDARD_CLASSES
    """Classes based on the bank's codes, applied after those of the company."""

    @property
    def hash(self) -> str:
        """SHA-256 of the rules' content, in hexadecimal."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()

    @property
    def contradicting_codes(self) -> tuple[str, ...]:
        """The contradicting statuses in the spelling of `service_code`, in order."""
        return tuple(service_code(text.strip()) for text in self.contradicting_statuses)


def load_rules(path: Path) -> Rules:
    """Read rules from a TOML file.

    Parameters
    ----------
    path
        The file; a key that it does not have keeps its default.

    Returns
    -------
    Rules
        The validated rules.

    Raises
    ------
    SettingsError
        If the file is missing, or a key in it is wrong.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rules.toml"
    ...     _ = path.write_text("window_days = 20")
    ...     load_rules(path).window_days
    20
    """
    try:
        content = parse_toml(read_settings(path), parse_float=Decimal)
    except FileNotFoundError:
        raise SettingsError(f"{path} does not exist", do="write it, or name another file") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}", do="correct that key") from None
    return _read(content, f"{path}: ")


def check_rules(rules: Rules) -> Rules:
    """Return the rules unchanged; raise SettingsError unless they are `Rules` with valid values."""
    if not isinstance(rules, Rules):
        raise SettingsError(
            f"rules: a {type(rules).__name__} is not a Rules object",
            do="give Rules(window_days=20), or load_rules(path) of a file",
        )
    return _read(msgspec.to_builtins(rules, builtin_types=(Decimal,)), "rules: ")


_IN_A_CLASS: Final = re.compile(r"unknown field `(\w+)` - at `\$\.(?:standard_)?classes\[")


def _read(content: object, where: str) -> Rules:
    try:
        rules = convert(content, Rules)
    except msgspec.ValidationError as error:
        misplaced = _IN_A_CLASS.search(str(error))
        if misplaced is not None and misplaced[1] in Rules.__struct_fields__:
            # TOML reads a key below [[classes]] as a key of that class.
            do = f"move {misplaced[1]} above the first [[...]] table of the file"
        else:
            do = "correct that key"
        raise SettingsError(f"{where}{error}", do=do) from None
    for name, unit in (("conversion_band", "per cent"), ("over_tolerance", "an amount")):
        value = getattr(rules, name)
        if not value.is_finite() or value < 0:
            raise SettingsError(f"{where}{name} is {value}", do=f"give {unit}, 0 or more")
    for value in rules.usual_charges:
        if not value.is_finite() or value <= 0:
            raise SettingsError(f"{where}usual_charges has {value}", do="give amounts above 0")
    _require_par(rules.coins_at_par, where)
    for rule in (*rules.classes, *rules.standard_classes):
        wrong = _wrong(rule)
        if wrong:
            raise SettingsError(
                f"{where}the class {rule.name!r:.60} {wrong}", do="correct that class"
            )
    return rules


def _require_par(pairs: tuple[str, ...], where: str) -> None:
    """Raise SettingsError for a coin that cannot be valued one to one in a currency."""
    coins = [pair.split("/") for pair in pairs]
    for coin, unit in coins:
        pair = f"{where}coins_at_par has {coin}/{unit}"
        if coin in NATIVE_COINS.values():
            raise SettingsError(
                f"{pair}: {coin} is the native coin of a chain and not tied to a currency",
                do="remove it, and add a file with its rates: treasury rates add FILE",
            )
        if coin in CURRENCIES or unit not in CURRENCIES or [c for c, _ in coins].count(coin) > 1:
            raise SettingsError(
                pair, do="give each coin once, with the currency that it is tied to"
            )


def is_text_alone(rule: ClassRule) -> bool:
    """Return whether a class relies on texts that payers write, so it never applies to a credit."""
    by_text = rule.remittance is not None or rule.counterparty_name is not None
    return by_text and rule.bank_transaction_code is None and rule.counterparty_account is None


def met_by_none(rules: Rules) -> tuple[str, ...]:
    """Return the names of classes that never apply: they are for credits and rely on texts."""
    return tuple(
        rule.name for rule in rules.classes if rule.direction == "CRDT" and is_text_alone(rule)
    )


def _wrong(rule: ClassRule) -> str:
    """Return why a class is invalid, or an empty text."""
    conditions = [name for name in _CONDITIONS if getattr(rule, name) is not None]
    if not conditions:
        return "has no condition, so that every line would meet it"
    for name in conditions:
        if name in _PATTERNS:
            try:
                pc.match_substring_regex(pa.array([""]), getattr(rule, name))
            except pa.ArrowInvalid as error:
                return f"has the {name} pattern {getattr(rule, name)!r:.60}: {error}"
    return ""


_CONDITIONS: Final = tuple(
    name for name in ClassRule.__struct_fields__ if name not in {"name", "line_class"}
)
_PATTERNS: Final = frozenset({"bank_transaction_code", "counterparty_name", "remittance"})
