"""Hostile sets of lines and expectations, with which a payer could slow matching down.

Each function returns the given number of lines, or the fraction that its docstring states.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from string import ascii_uppercase
from typing import Final, TypeAlias

import pyarrow as pa

__all__ = ["HOSTILE", "lines_table", "ordinary_code", "requests_table"]

Tables: TypeAlias = tuple[pa.Table, pa.Table]
AMOUNT: Final = pa.decimal128(38, 18)
OPENED: Final = pa.timestamp("us", tz="UTC")
ACCOUNT: Final = "NL05TEST0417164300"
LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def lines_table(
    texts: list[str], amounts: list[Decimal], *, start: int = 0, **more: list[object]
) -> pa.Table:
    """Return lines of October on one account, one per text, numbered from `start`.

    `more` replaces columns.
    """
    rows, first = len(texts), date(2026, 10, 1)
    numbers = range(start, start + rows)
    columns = {
        "entry_id": [f"e{n}" for n in numbers],
        "account": [ACCOUNT] * rows,
        "amount": pa.array(amounts).cast(AMOUNT),
        "currency": ["EUR"] * rows,
        "direction": ["CRDT"] * rows,
        "booking_date": [first + timedelta(days=n % 31) for n in numbers],
        "remittance": texts,
        "counterparty_account": [f"LT{n % 50:018d}" for n in numbers],
    }
    return pa.table(columns | more)


def requests_table(
    codes: list[str], amounts: list[Decimal | None], *, start: int = 0, **more: list[object]
) -> pa.Table:
    """Return expectations of these codes, numbered from `start`; `more` replaces columns."""
    rows = len(codes)
    opened = datetime(2026, 9, 25, tzinfo=UTC)
    columns = {
        "expectation_id": [f"r{n}" for n in range(start, start + rows)],
        "kind": ["off_ramp"] * rows,
        "code": codes,
        "amount": pa.array(amounts, AMOUNT),
        "currency": ["EUR"] * rows,
        "direction": ["CRDT"] * rows,
        "opened_at": pa.array([opened] * rows, OPENED),
        "status": ["SUCCEEDED"] * rows,
    }
    return pa.table(columns | more)


def ordinary_code(number: int) -> str:
    """Return the code of a request in the ordinary set."""
    return f"PAY-2026-{number:07d}"


def _amounts(random: Random, rows: int) -> list[Decimal]:
    return [Decimal(random.randrange(10_000, 5_000_000)).scaleb(-2) for _ in range(rows)]


def _dense(rows: int) -> list[Decimal]:
    """Return different amounts, one cent apart."""
    return [Decimal(10_000 + n).scaleb(-2) for n in range(rows)]


def _codes(rows: int) -> list[str]:
    return [ordinary_code(n) for n in range(rows)]


def _word(random: Random, length: int) -> str:
    return "".join(random.choices(LETTERS, k=length))


def _of_texts(
    rows: int, text: Callable[[Random], str], code: Callable[[Random, int], str]
) -> Tables:
    random = Random(rows)
    codes = [code(random, n) for n in range(rows)]
    texts = [text(random) for _ in range(rows)]
    return (
        lines_table(texts, _amounts(random, rows)),
        requests_table(codes, [*_amounts(random, rows)]),
    )


def one_long_token(rows: int) -> Tables:
    """Lines of one token of 140 characters, and codes of four lengths."""
    return _of_texts(
        rows,
        lambda random: _word(random, 140),
        lambda random, n: _word(random, (8, 10, 12, 14)[n % 4]),
    )


def groups_of_digits(rows: int) -> Tables:
    """Lines of 140 characters in groups of digits, and codes of 25 lengths."""

    def text(random: Random) -> str:
        return " ".join(str(random.randrange(10, 10_000)) for _ in range(30))[:140]

    def code(random: Random, n: int) -> str:
        return "".join(random.choices("0123456789", k=8 + n % 25))

    return _of_texts(rows, text, code)


def many_tokens(rows: int) -> Tables:
    """Lines of seventy one-character tokens."""
    return _of_texts(
        rows, lambda random: " ".join(_word(random, 70)), lambda _, n: ordinary_code(n)
    )


def many_words(rows: int) -> Tables:
    """Lines of words that begin like the codes."""
    return _of_texts(
        rows, lambda random: " ".join(["PAY", "2026"] * 15 + [_word(random, 5)]),
        lambda _, n: ordinary_code(n),
    )  # fmt: skip


def many_rf(rows: int) -> Tables:
    """Lines that repeat strings which look like creditor references."""

    def text(random: Random) -> str:
        return " ".join(f"RF{random.randrange(10, 99)}{_word(random, 6)}" for _ in range(14))

    return _of_texts(rows, text, lambda random, _: _word(random, 6))


def many_slashes(rows: int) -> Tables:
    """Lines of segments between slashes, each nearly a code."""
    return _of_texts(
        rows,
        lambda random: "/".join(f"PAY2026{random.randrange(10**5)}" for _ in range(11)),
        lambda _, n: ordinary_code(n),
    )


def returns_of_one_code(rows: int) -> Tables:
    """Lines that all name one standing (repeatedly payable) code; one in 200 is returned."""
    random = Random(rows)
    amounts = [Decimal(random.choice((10, 20, 50))) for _ in range(rows)]
    is_back = [n % 200 == 199 for n in range(rows)]
    lines = lines_table(
        ["thanks PAY-2026-0000000"] * rows, amounts,
        direction=["DBIT" if back else "CRDT" for back in is_back],
        return_reason=["AC04" if back else None for back in is_back],
    )  # fmt: skip
    codes = [ordinary_code(n) for n in range(rows)]
    return lines, requests_table(codes, [None, *_amounts(random, rows - 1)])


def one_code_for_all(rows: int) -> Tables:
    """A twelfth of the rows. All expectations have the same code."""
    few = max(1, rows // 12)
    amounts = _amounts(Random(rows), few)
    lines = lines_table(["thanks PAY-2026-0000000"] * few, amounts)
    return lines, requests_table(["PAY-2026-0000000"] * few, [*amounts])


def a_code_that_all_begin_with(rows: int) -> Tables:
    """Lines, a fiftieth of the rows, that name a short code with which every other code begins."""
    random = Random(rows)
    few = max(1, rows // 50)
    lines = lines_table(["PAY-2026-00"] * few, _amounts(random, few))
    codes = ["PAY-2026-00", *(f"PAY-2026-00{n:06d}" for n in range(rows - 1))]
    return lines, requests_table(codes, [*_amounts(random, rows)])


def a_pooled_account(rows: int) -> Tables:
    """A twelfth of the rows, without references, on one account with one amount."""
    few = max(1, rows // 12)
    amounts = [Decimal(100)] * few
    lines = lines_table(["thanks"] * few, amounts)
    return lines, requests_table(_codes(few), [*amounts], account=[ACCOUNT] * few)


def slips_of_one_amount(rows: int) -> Tables:
    """Lines of one amount, each naming its code; every second code is one euro more."""
    codes = [ordinary_code(n) for n in range(rows)]
    lines = lines_table([f"thanks {code}" for code in codes], [Decimal("99.99")] * rows)
    return lines, requests_table(codes, [Decimal("99.99") + n % 2 for n in range(rows)])


def _of_one_payer(rows: int, codes: int) -> Tables:
    """Lines of one payer; the first half name one of the codes, the second half no code."""
    half, first = rows // 2, date(2026, 10, 1)
    texts = [f"huur {ordinary_code(n % codes)}" for n in range(half)] + ["huur"] * (rows - half)
    lines = lines_table(
        texts, _amounts(Random(rows), rows),
        counterparty_account=["LT000000000000000001"] * rows,
        counterparty_name=["Jansen Bouw BV"] * rows,
        booking_date=[first + timedelta(days=n * 31 // rows) for n in range(rows)],
    )  # fmt: skip
    return lines, requests_table([ordinary_code(n) for n in range(codes)], [None] * codes)


def one_payer(rows: int) -> Tables:
    """Lines of one payer with as many codes as lines without a code."""
    return _of_one_payer(rows, rows // 2)


def one_payer_of_few_codes(rows: int) -> Tables:
    """Lines of one payer with twenty codes, each paid many times."""
    return _of_one_payer(rows, 20)


def codes_cut_short(rows: int) -> Tables:
    """Lines that name only the beginning of very many codes."""
    random = Random(rows)
    codes = _codes(rows)
    cut = ordinary_code(0)[:-4]
    return (
        lines_table([f"thanks {cut}"] * rows, _amounts(random, rows)),
        requests_table(codes, [*_amounts(random, rows)]),
    )


def names_of_one_word(rows: int) -> Tables:
    """Lines whose amount differs from that of their code; all names share one word."""
    random = Random(rows)
    codes = _codes(rows)
    lines = lines_table(
        [f"thanks {code}" for code in codes], _amounts(random, rows),
        counterparty_name=[f"Handel {_word(random, 6)}" for _ in codes],
    )  # fmt: skip
    names: list[object] = [f"{_word(random, 6)} Handel" for _ in codes]
    return lines, requests_table(codes, [*_amounts(random, rows)], counterparty_name=names)


def two_codes_each(rows: int) -> Tables:
    """Half of the rows. Lines with a request's code and amount, and a standing code."""
    half = max(1, rows // 2)
    amounts = _amounts(Random(rows), half)
    requests, standing = ([ordinary_code(n + turn * half) for n in range(half)] for turn in (0, 1))
    accounts = [f"NL{n:016d}" for n in range(half)]
    texts = [f"{one} {other}" for one, other in zip(requests, standing, strict=True)]
    return (
        lines_table(texts, amounts, account=[*accounts]),
        requests_table(
            requests + standing, [*amounts, *([None] * half)], account=[*accounts, *accounts]
        ),
    )


def standing_codes_of_a_year(rows: int) -> Tables:
    """Standing codes of one pooled account, opened day after day; fifty payers name one each."""
    codes, opened = _codes(rows), datetime(2026, 9, 1, tzinfo=UTC)
    lines = lines_table(
        [codes[n] if n < 50 else "thanks" for n in range(rows)], _dense(rows),
        booking_date=[date(2026, 10, 1 if n < 50 else 5) for n in range(rows)],
    )  # fmt: skip
    days: list[object] = [opened - timedelta(days=n % 365) for n in range(rows)]
    return lines, requests_table(
        codes, [None] * rows, account=[ACCOUNT] * rows, opened_at=pa.array(days, OPENED)
    )


def requests_of_a_month(rows: int) -> Tables:
    """Requests of one pooled account and amount, opened day after day; ten times as many lines."""
    few, opened = max(50, rows // 10), datetime(2026, 9, 25, tzinfo=UTC)
    codes = _codes(few)
    lines = lines_table(
        [f"thanks {codes[n]}" if n < 50 else "thanks" for n in range(rows)], [Decimal(100)] * rows,
        booking_date=[date(2026, 10, 1 if n < 50 else 24) for n in range(rows)],
    )  # fmt: skip
    days: list[object] = [opened + timedelta(days=n % 30 if n >= 50 else 0) for n in range(few)]
    amounts: list[Decimal | None] = [Decimal(100)] * few
    return lines, requests_table(
        codes, amounts, account=[ACCOUNT] * few, opened_at=pa.array(days, OPENED)
    )


def names_that_share_a_word(rows: int) -> Tables:
    """Lines whose amount differs from that of their code; all names share one of their words."""
    codes, amounts = _codes(rows), _dense(rows)

    def names(side: str) -> list[object]:
        return [f"Handel {side}{n} Berlin{side}{n} Mitte{side}{n}" for n in range(rows)]

    return (
        lines_table([f"thanks {code}" for code in codes], amounts, counterparty_name=names("L")),
        requests_table(codes, [amount + 1 for amount in amounts], counterparty_name=names("E")),
    )


def a_token_that_all_begin_with(rows: int) -> Tables:
    """Lines with a token that contains one code, and with which every other code begins."""
    amounts = _dense(rows)
    codes = ["CUST-1234", *(f"CUST-1234/INV{n:06d}" for n in range(rows - 1))]
    return (
        lines_table(["CUST-1234/INV"] * rows, amounts),
        requests_table(codes, [None, *amounts[1:]]),
    )


def instalments_beside_others(rows: int) -> Tables:
    """Consecutive codes of twelve instalments each; each line has the amount of the next code."""
    series = max(1, rows // 12)
    codes = [f"KD-2026-{n % series:04d}" for n in range(rows)]
    paid, expected = (
        [Decimal(90 if n % series % 2 == odd else 100) for n in range(rows)] for odd in (1, 0)
    )
    return lines_table(codes, paid), requests_table(codes, [*expected])


def instalments_of_one_amount(rows: int) -> Tables:
    """Codes with more instalments than matching examines, most of them of one amount."""
    series = max(1, rows // 24)
    numbers = [n % series for n in range(rows)]
    codes = [f"KD-2026-{n:05d}" for n in numbers]
    amounts = [Decimal("99.99") if n % 10 else Decimal(1000 + n) for n in numbers]
    return lines_table(codes, amounts), requests_table(codes, [*amounts])


def instalments_across_words(rows: int) -> Tables:
    """Long codes of twenty instalments each; every line has a space in its code."""
    series = max(1, rows // 20)
    codes = [f"HUURCONTRACT-TERMIJNEN-2026-{n % series:06d}" for n in range(rows)]
    texts = [f"{code[:-3]} {code[-3:]} dank voor de goede ontvangst van alles" for code in codes]
    amounts = _dense(rows)
    return lines_table(texts, amounts), requests_table(codes, [*amounts])


def equal_parts(rows: int) -> Tables:
    """Payers of forty equal lines, each with four requests of three times that amount."""
    payers = max(1, rows // 40)
    numbers = [n % payers for n in range(payers * 40)]
    account = [f"NL{n:016d}" for n in range(payers)]
    lines = lines_table(
        [f"thanks {ordinary_code(n)}" for n in range(payers)]
        + ["thanks"] * len(numbers), [Decimal(100)] * (payers + len(numbers)),
        account=[account[n] for n in (*range(payers), *numbers)],
        counterparty_account=[f"LT{n:018d}" for n in (*range(payers), *numbers)],
        booking_date=[*[date(2026, 10, 1)] * payers, *[date(2026, 10, 5)] * len(numbers)],
    )  # fmt: skip
    owners = [n % payers for n in range(payers * 5)]
    amounts = [Decimal(100 if n < payers else 300) for n in range(len(owners))]
    codes = [ordinary_code(n) for n in range(len(owners))]
    return lines, requests_table(codes, [*amounts], account=[account[n] for n in owners])


def _returns(rows: int, every: int, amounts: list[Decimal], **more: list[object]) -> Tables:
    """Lines of one standing code; after all are booked, one in `every` is a return."""
    is_back = [n % every == every - 1 for n in range(rows)]
    lines = lines_table(
        ["thanks PAY-2026-0000000"] * rows, amounts,
        direction=["DBIT" if back else "CRDT" for back in is_back],
        return_reason=["AC04" if back else None for back in is_back],
        booking_date=[date(2026, 10, 20 if back else 2) for back in is_back],
        **more,
    )  # fmt: skip
    return lines, requests_table([ordinary_code(0)], [None])


def returns_of_every_amount(rows: int) -> Tables:
    """Lines of one standing code, all of different amounts; one in twenty is a return."""
    return _returns(rows, 20, [Decimal(n + 100).scaleb(-2) for n in range(rows)])


def returns_of_one_reference(rows: int) -> Tables:
    """Like `returns_of_every_amount`, but with one end-to-end id and one payer for all lines."""
    return _returns(
        rows, 20, [Decimal(n + 100).scaleb(-2) for n in range(rows)],
        end_to_end_id=["RENT 2026"] * rows,
        counterparty_account=["LT000000000000000001"] * rows,
    )  # fmt: skip


def returns_of_one_amount(rows: int) -> Tables:
    """Lines of one standing code and one amount, each with its own end-to-end id and payer."""
    return _returns(
        rows, 20, [Decimal(100)] * rows,
        end_to_end_id=[None if n % 20 == 19 else f"E2E-{n:07d}" for n in range(rows)],
        counterparty_account=[None if n % 20 == 19 else f"LT{n:018d}" for n in range(rows)],
    )  # fmt: skip


def _beside_its_code(rows: int, text: Callable[[int, str], str]) -> Tables:
    """Lines that each name their own code next to another text."""
    codes, random = _codes(rows), Random(rows)
    return (
        lines_table([text(n, code)[:140] for n, code in enumerate(codes)], _amounts(random, rows)),
        requests_table(codes, [*_amounts(random, rows)]),
    )


def pieces_beside_a_code(rows: int) -> Tables:
    """Lines with a code, and words separated by commas that together begin like every code."""
    pieces = ["PAY", "2026", "0", "01", "1"]
    return _beside_its_code(rows, lambda n, code: f"{code} {n % 10}, {', '.join(pieces * 7)}")


def cut_beside_a_code(rows: int) -> Tables:
    """Lines with a code, and twice the beginning of very many other codes."""
    return _beside_its_code(rows, lambda _, code: f"{code} {code[:-3]} {code[:-2]}")


def other_letter_forms(rows: int) -> Tables:
    """Lines of 140 mathematical letters that contain the code."""
    forms = {ord(letter): 0x1D400 + n for n, letter in enumerate(ascii_uppercase)}
    return _beside_its_code(rows, lambda _, code: f"{code} {'PAYMENT ' * 16}".translate(forms))


def codes_in_words(rows: int) -> Tables:
    """Lines of eight codes, each with spaces in place of hyphens."""
    codes = [code.replace("-", " ") for code in _codes(rows)]
    return _of_texts(
        rows, lambda random: " ".join(random.choices(codes, k=9))[:140],
        lambda _, n: ordinary_code(n),
    )  # fmt: skip


def words_of_a_code(rows: int) -> Tables:
    """Lines that repeat the words of one code in random order."""

    def text(random: Random) -> str:
        words = ["PAY", "2026", f"{random.randrange(rows):07d}"] * 8
        random.shuffle(words)
        return " ".join(words)[:140]

    return _of_texts(rows, text, lambda _, n: ordinary_code(n))


def long_numbers_in_groups(rows: int) -> Tables:
    """Lines of eight codes of twelve digits, printed in groups of three."""
    codes = [f"{n * 7919 + 10**11:012d}" for n in range(rows)]
    printed = [" ".join(code[at : at + 3] for at in range(0, 12, 3)) for code in codes]
    return _of_texts(
        rows, lambda random: " ".join(random.choices(printed, k=9))[:140],
        lambda _, n: codes[n],
    )  # fmt: skip


def _foreign(word: str) -> str:
    """Replace letters of a code with Cyrillic letters that look the same."""
    return word.translate(str.maketrans("PAYO", "\u0420\u0410\u0423\u041e"))


def look_alike_codes(rows: int) -> Tables:
    """Lines of eight codes, written with Cyrillic letters."""
    return _of_texts(
        rows,
        lambda random: " ".join(_foreign(ordinary_code(random.randrange(10**7))) for _ in range(9))[
            :140
        ],
        lambda _, n: ordinary_code(n),
    )


def look_alike_tokens(rows: int) -> Tables:
    """Lines with a code, and tokens of Cyrillic letters that begin like a code."""
    letters = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u04250123456789"
    random = Random(rows)
    return _beside_its_code(
        rows,
        lambda _, code: " ".join(
            [code, *(_foreign("PAY") + "".join(random.choices(letters, k=10)) for _ in range(9))]
        ),
    )


def digits_of_another_script(rows: int) -> Tables:
    """Lines of 140 characters with numbers of twelve Arabic-Indic digits."""
    digits = {ord("0") + n: 0x660 + n for n in range(10)}
    return _of_texts(
        rows,
        lambda random: " ".join(f"{random.randrange(10**12):012d}" for _ in range(10)).translate(
            digits
        ),
        lambda _, n: ordinary_code(n),
    )


def serials_with_labels(rows: int) -> Tables:
    """Lines of up to fourteen invoices, each apart from its label and without leading zeros."""
    return _of_texts(
        rows, lambda random: " ".join(f"INV {random.randrange(rows)}" for _ in range(14))[:140],
        lambda _, n: f"INV-{n:07d}",
    )  # fmt: skip


def amounts_of_others(rows: int) -> Tables:
    """Half of the rows. Each line pays half of a request: the amount of the payer's others."""
    half = rows // 2
    named = [f"INV-{n:07d}" for n in range(half)]
    others = [f"ORD-{n:07d}" for n in range(half)]
    payers = [f"LT{n % 50:018d}" for n in range(half)]
    lines = lines_table([f"{code} part" for code in named], [Decimal(500)] * half)
    expected = requests_table(
        [*named, *others],
        [Decimal(1000)] * half + [Decimal(500)] * half,
        owner=[f"owner {n % 2}" for n in range(2 * half)],
        counterparty_account=[*payers, *payers],
        counterparty_name=["Payer BV"] * (2 * half),
    )
    return lines, expected


HOSTILE: Final[dict[str, Callable[[int], Tables]]] = {
    "one long token": one_long_token,
    "groups of digits": groups_of_digits,
    "many tokens": many_tokens,
    "many words": many_words,
    "many RF": many_rf,
    "many slashes": many_slashes,
    "returns of one code": returns_of_one_code,
    "one code for all": one_code_for_all,
    "a code that all begin with": a_code_that_all_begin_with,
    "a pooled account": a_pooled_account,
    "slips of one amount": slips_of_one_amount,
    "one payer": one_payer,
    "one payer of few codes": one_payer_of_few_codes,
    "codes cut short": codes_cut_short,
    "names of one word": names_of_one_word,
    "two codes each": two_codes_each,
    "standing codes of a year": standing_codes_of_a_year,
    "requests of a month": requests_of_a_month,
    "names that share a word": names_that_share_a_word,
    "a token that all begin with": a_token_that_all_begin_with,
    "instalments beside others": instalments_beside_others,
    "instalments of one amount": instalments_of_one_amount,
    "instalments across words": instalments_across_words,
    "equal parts": equal_parts,
    "returns of every amount": returns_of_every_amount,
    "returns of one reference": returns_of_one_reference,
    "returns of one amount": returns_of_one_amount,
    "pieces beside a code": pieces_beside_a_code,
    "cut beside a code": cut_beside_a_code,
    "other letter forms": other_letter_forms,
    "codes in words": codes_in_words,
    "words of a code": words_of_a_code,
    "long numbers in groups": long_numbers_in_groups,
    "look-alike codes": look_alike_codes,
    "look-alike tokens": look_alike_tokens,
    "digits of another script": digits_of_another_script,
    "serials with labels": serials_with_labels,
    "amounts of others": amounts_of_others,
}
