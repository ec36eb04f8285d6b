"""Rate files are read exactly, or refused by file and line with nothing stored."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rate_samples import BANKS_FILE, desk, own_file, packed, written

from treasury.core.errors import InputError
from treasury.rates import read_rates

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Brussels")


def rates_of(path: Path) -> dict[tuple[str, str, str], Decimal]:
    """Return the rates of a file by day or instant, base and quote."""
    rows = read_rates(path, NOW, ZONE).table().to_pylist()
    return {
        (str(row["observed_at"] or row["day"]), row["base"], row["quote"]): row["rate"]
        for row in rows
    }


def parquet(folder: Path, **columns: pa.Array) -> Path:
    path = folder / "rates.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_ecb_history_is_read_with_every_digit(tmp_path: Path, is_packed: bool) -> None:
    path = (
        packed(tmp_path, {"eurofxref-hist.csv": BANKS_FILE})
        if is_packed
        else written(tmp_path, BANKS_FILE, "eurofxref-hist.csv")
    )
    rates = rates_of(path)
    assert rates["2026-10-28", "EUR", "USD"] == Decimal("1.1150")
    assert rates["2026-10-30", "EUR", "SEK"] == Decimal("10.978")
    assert ("2026-10-29", "EUR", "SEK") not in rates, "N/A is not a rate"
    assert len(rates) == 8
    file = read_rates(path, NOW, ZONE)
    assert set(file.table()["source"].to_pylist()) == {"ECB"}
    assert '["2026-10-28","EUR","USD","1.1150"]' in file.table()["raw"].to_pylist(), "as published"


def test_a_companys_own_file_has_days_and_instants(tmp_path: Path) -> None:
    path = own_file(
        tmp_path, "2026-10-30,ETH,EUR,2310.45", "2026-10-30T23:30Z,usdc,EUR,0.895012345678"
    )
    assert rates_of(path) == {
        ("2026-10-30", "ETH", "EUR"): Decimal("2310.45"),
        ("2026-10-30 23:30:00+00:00", "USDC", "EUR"): Decimal("0.895012345678"),
    }
    (_, instant) = read_rates(path, NOW, ZONE).table().to_pylist()
    assert instant["day"] == date(2026, 10, 31), "the day in the reporting zone"
    assert instant["source"] == "rates.csv"


def test_a_companys_own_file_may_be_parquet(tmp_path: Path) -> None:
    days = pa.array([date(2026, 10, 30), date(2026, 10, 29)])
    exact = pa.array([Decimal("2310.45"), Decimal("2300.00")], pa.decimal128(20, 6))
    path = parquet(
        tmp_path,
        day=days,
        base=pa.array(["ETH", "ETH"]),
        quote=pa.array(["EUR", "EUR"]),
        rate=exact,
    )
    assert rates_of(path)["2026-10-30", "ETH", "EUR"] == Decimal("2310.45")
    instants = pa.array([NOW, NOW.replace(hour=1)], pa.timestamp("us", tz="UTC"))
    path = parquet(
        tmp_path, day=instants, base=pa.array(["ETH", "ETH"]), quote=pa.array(["EUR", "EUR"]),
        rate=pa.array(["2310.45", "2300"]),
    )  # fmt: skip
    assert rates_of(path)["2026-11-02 08:00:00+00:00", "ETH", "EUR"] == Decimal("2310.45")


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "zero": (("2026-10-30,USD,EUR,0",), "line 2: USD/EUR is 0"),
    "below zero": (
        ("2026-10-29,USD,EUR,0.9", "2026-10-30,USD,EUR,-0.9"), "line 3: USD/EUR is -0.9",
    ),
    "two that differ": (
        ("2026-10-30,USD,EUR,0.9", "2026-10-29,USD,EUR,0.9", "2026-10-30,USD,EUR,0.91"),
        "line 4: USD/EUR of 2026-10-30 is 0.91, but 0.9 on line 2",
    ),
    "two of one instant that differ": (
        ("2026-10-30T10:00Z,USD,EUR,0.9", "2026-10-30T12:00+02:00,USD,EUR,0.91"),
        r"line 3: USD/EUR of 2026-10-30T10:00:00\+00:00 is 0.91, but 0.9 on line 2",
    ),
    "a day to come": (("2026-11-03,USD,EUR,0.9",), "line 2: 2026-11-03 is in the"),
    "an instant to come": (("2026-11-02T08:00:01Z,USD,EUR,0.9",), "line 2: .* is in the future"),
    "an unknown currency": (("2026-10-30,USX,EUR,0.9",), "line 2: 'USX' is not a known currency"),
    "an unknown quote": (("2026-10-30,USD,<b>,0.9",), "line 2: '<B>' is not a known currency"),
    "itself": (("2026-10-30,USD,USD,1",), "line 2: a rate of USD against itself"),
    "no number": (("2026-10-30,USD,EUR,abc",), "line 2, rate: 'abc' is not a number"),
    "a decimal comma": (('2026-10-30,USD,EUR,"0,9"',), "line 2, rate: '0,9' is not a number"),
    "not a number by name": (("2026-10-30,USD,EUR,NaN",), "line 2, rate: 'NaN' is not a number"),
    "an empty rate": (("2026-10-30,USD,EUR,",), "line 2: rate is empty"),
    "no such day": (("2026-02-30,USD,EUR,0.9",), "line 2, day: '2026-02-30' is not a day"),
    "a time without a zone": (
        ("2026-10-30T10:00,USD,EUR,0.9",), "line 2, day: .* neither a day nor an instant",
    ),
    "nothing": ((), "contains no rates"),
    "infinity": (("2026-10-30,USD,EUR,Infinity",), "line 2, rate: 'Infinity' is not a number"),
    "a huge exponent": (("2026-10-30,USD,EUR,1e999999999",), "line 2, rate: .* is not a number"),
    "a tiny exponent": (("2026-10-30,USD,EUR,1e-999999999",), "line 2, rate: .* is not a number"),
    "more digits than are kept": (
        ("2026-10-30,USD,EUR,0.1234567890123456789",), "line 2, rate: .* nothing was rounded",
    ),
    "a thousands separator": (
        ('2026-10-30,USD,EUR,"1,234.5"',), "line 2, rate: '1,234.5' is not a number",
    ),
    "two points": (("2026-10-30,USD,EUR,1.234.5",), "line 2, rate: '1.234.5' is not a number"),
    "a blank within": (("2026-10-30,USD,EUR,1 234",), "line 2, rate: '1 234' is not a number"),
    "underscores": (("2026-10-30,USD,EUR,1_000",), "line 2, rate: '1_000' is not a number"),
    "other digits": (("2026-10-30,USD,EUR,٠.٩",), "line 2, rate: '٠.٩' is not a number"),
    "a formula": (("2026-10-30,USD,EUR,=1",), "line 2, rate: '=1' is not a number"),
    "an endless number": (("2026-10-30,USD,EUR," + "9" * 200_000,), "line 2: field larger"),
    "a quote that is not closed": (('2026-10-30,USD,EUR,"0.9',), "line 2: unexpected end of data"),
    "a cell too many": (("2026-10-30,USD,EUR,1.234,00",), "line 2: 5 cells for 4 columns"),
    "an instant before all days": (
        ("0001-01-01T00:00+23:00,USD,EUR,0.9",), "line 2, day: .* neither a day nor an instant",
    ),
    "an instant after all days": (
        ("9999-12-31T23:59-23:00,USD,EUR,0.9",), "line 2, day: .* neither a day nor an instant",
    ),
    "both ways round": (
        ("2026-10-30,USD,EUR,0.9", "2026-10-30,EUR,USD,1.5"),
        "line 3: EUR/USD of 2026-10-30 is quoted in the other direction on line 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_an_impossible_rate_is_refused_by_file_and_line(
    tmp_path: Path, lines: tuple[str, ...], problem: str
) -> None:
    workspace = desk(tmp_path / "desk")
    path = own_file(tmp_path, *lines)
    with pytest.raises(InputError, match=problem) as refused:
        workspace.rates.add(path)
    assert str(path) in str(refused.value)
    assert workspace.snapshot().commit is None, "nothing is stored"


BANKS_REFUSED: dict[str, tuple[Callable[[str], str], str]] = {
    "zero": (lambda text: text.replace("1.113,", "0,"), "line 3: EUR/USD is 0"),
    "no number": (lambda text: text.replace("1.113,", "1.1x,"), "line 3, USD: '1.1x' is not"),
    "a day twice": (
        lambda text: text + "2026-10-30,1.1173,175.68,10.978,\n", "line 5: EUR/USD of 2026-10-30",
    ),
    "a day to come": (
        lambda text: text.replace("2026-10-30", "2026-11-03"), "line 2: 2026-11-03 is in the",
    ),
    "a strange column": (lambda text: text.replace("SEK", "SEX"), "line 2: 'SEX' is not a known"),
    "a column twice": (lambda text: text.replace("JPY", "USD"), "line 1: the column 'USD' appears"),
    "cut off": (lambda text: text[:-6], "line 4: 4 cells for 5 columns"),
    "no day": (lambda text: text.replace("2026-10-29", "29 October"), "line 3, Date: '29 October'"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "problem"), BANKS_REFUSED.values(), ids=BANKS_REFUSED.keys())
def test_a_damaged_ecb_history_is_refused_by_file_and_line(
    tmp_path: Path, spoil: Callable[[str], str], problem: str
) -> None:
    workspace = desk(tmp_path / "desk")
    with pytest.raises(InputError, match=problem):
        workspace.rates.add(written(tmp_path, spoil(BANKS_FILE)))
    assert workspace.snapshot().commit is None


def test_a_byte_order_mark_and_other_delimiters_are_read_and_duplicate_columns_refused(
    tmp_path: Path,
) -> None:
    line = "2026-10-30;USD;EUR;0.9\n"
    path = written(tmp_path, b"\xef\xbb\xbfday;base;quote;rate\n" + line.encode())
    assert rates_of(path) == {("2026-10-30", "USD", "EUR"): Decimal("0.9")}
    assert len(rates_of(written(tmp_path, b"\xef\xbb\xbf" + BANKS_FILE.encode()))) == 8
    for text, problem in (
        ("day,base,quote,rate,Rate\n2026-10-30,USD,EUR,0.9,0.8\n", "line 1: has 'rate' twice"),
        ("day,base,quote\n2026-10-30,USD,EUR\n", "line 1: has no column 'rate'"),
        ("day,base,quote,rate\n2026-10-30,USD,EUR,0.9\0\n", "is not text"),
    ):
        with pytest.raises(InputError, match=rf"rates\.csv.*{problem}"):
            read_rates(written(tmp_path, text), NOW, ZONE)
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_rates(written(tmp_path, BANKS_FILE.encode("utf-16")), NOW, ZONE)


def test_a_float_in_parquet_is_refused(tmp_path: Path) -> None:
    columns = {
        "day": pa.array([date(2026, 10, 30)]),
        "base": pa.array(["USD"]),
        "quote": pa.array(["EUR"]),
    }
    path = parquet(tmp_path, **columns, rate=pa.array([0.9]))
    with pytest.raises(InputError, match=r"rates.parquet: rate is a float") as refused:
        desk(tmp_path / "desk").rates.add(path)
    assert "as text or as a decimal" in str(refused.value)


def test_a_row_of_parquet_is_refused_by_its_number(tmp_path: Path) -> None:
    columns = {"base": pa.array(["USD", "USD"]), "quote": pa.array(["EUR", "EUR"])}
    days = pa.array([date(2026, 10, 30), date(2026, 10, 29)])
    for rate, problem in (("-1", "is -1"), ("x", "'x' is not a number"), (None, "rate is empty")):
        path = parquet(tmp_path, day=days, **columns, rate=pa.array(["0.9", rate]))
        with pytest.raises(InputError, match=rf"rates.parquet, row 2.*{problem}"):
            read_rates(path, NOW, ZONE)
    naive = parquet(
        tmp_path, day=days.cast(pa.timestamp("us")), **columns, rate=pa.array(["1", "2"])
    )
    with pytest.raises(InputError, match="day is a timestamp without a zone"):
        read_rates(naive, NOW, ZONE)
    written(tmp_path, b"PAR1 and no more", "rates.parquet")
    with pytest.raises(InputError, match=r"rates.parquet cannot be read"):
        read_rates(tmp_path / "rates.parquet", NOW, ZONE)


def test_oversized_parquet_is_refused(tmp_path: Path) -> None:
    def refused(problem: str, rate: pa.Array, **options: Any) -> None:
        rows = len(rate)
        table = pa.table(
            {
                "day": pa.array([date(2026, 10, 30)] * rows),
                "base": ["USD"] * rows,
                "quote": ["EUR"] * rows,
                "rate": rate,
            }
        )
        path = tmp_path / "rates.parquet"
        pq.write_table(table, path, compression="zstd", **options)
        assert path.stat().st_size < 1 << 20
        with pytest.raises(InputError, match=rf"rates\.parquet.*{problem}"):
            read_rates(path, NOW, ZONE)

    long = pa.array(["9" * 100_000]).dictionary_encode()
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), long.dictionary)
    refused("a rate is 100,000 bytes long", repeated)
    refused("unpacks to more than 64 MB", pa.array(["9" * 1_000_000] * 70), use_dictionary=False)
    days = pa.array([2**62, 0], pa.timestamp("us", tz="UTC"))
    columns = {"base": ["USD"] * 2, "quote": ["EUR"] * 2, "rate": ["0.9"] * 2}
    path = parquet(tmp_path, day=days, **{name: pa.array(each) for name, each in columns.items()})
    with pytest.raises(InputError, match=r"rates\.parquet cannot be read"):
        read_rates(path, NOW, ZONE)


def test_a_zip_of_several_files_or_a_bomb_is_refused(tmp_path: Path) -> None:
    two = packed(tmp_path, {"a.csv": BANKS_FILE, "b.csv": BANKS_FILE})
    with pytest.raises(InputError, match="contains 2 files instead of one"):
        read_rates(two, NOW, ZONE)
    nameless = tmp_path / "nameless.zip"
    with zipfile.ZipFile(nameless, "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), BANKS_FILE)
    assert read_rates(nameless, NOW, ZONE)
    bomb = packed(tmp_path, {"a.csv": b"\0" * (65 << 20)})
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="unpacks to more than 64 MB"):
        read_rates(bomb, NOW, ZONE)
    broken = written(tmp_path, two.read_bytes()[:200], "broken.zip")
    with pytest.raises(InputError, match=r"broken.zip cannot be unpacked"):
        read_rates(broken, NOW, ZONE)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_a_zip_with_a_compression_method_that_cannot_be_bounded_is_refused(
    tmp_path: Path, method: int, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "rates.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.csv", BANKS_FILE)
    with pytest.raises(InputError, match=f"compressed with {request.node.callspec.id}"):
        read_rates(path, NOW, ZONE)


def test_a_rate_file_name_that_is_not_utf_8_is_stored_with_escaped_bytes(
    tmp_path: Path,
) -> None:
    path = own_file(tmp_path, "2026-10-30,USDC,EUR,0.9", name=os.fsdecode(b"caf\xe9.csv"))
    assert read_rates(path, NOW, ZONE).table()["source"].to_pylist() == ["caf⟨U+DCE9⟩.csv"]
