"""Text lines of MT940 and MT942 that look like a field or the end of a message."""

from pathlib import Path

import pytest
from camt_samples import rows, write

from treasury.statements import StatementFile, read_file


def statement(
    *movements: str,
    opening: str = "C261001EUR100,00",
    closing: str = "C261031EUR110,00",
    number: str = "10/1",
) -> str:
    lines = (
        ":20:STMT", ":25:NL91ABNA0417164300", f":28C:{number}", f":60F:{opening}", *movements,
        f":62F:{closing}", "-", "",
    )  # fmt: skip
    return "\r\n".join(lines)


def read(folder: Path, *texts: str) -> StatementFile:
    return read_file(write(folder, "".join(texts), "file.sta"))


DASH = "\r\n-\r\n"


@pytest.mark.parametrize("chunk", [7, 1 << 18])
@pytest.mark.parametrize(
    "ends",
    [(":20:S", ":25:"), (":25:10050000/1234567", ":28C:"), (":28C:1/1", ":60F:"),
     (":60F:C261005EUR1,00", ":61:"), ("NONREF", ":86:"), ("?20x", ":62F:"),
     (":62F:C261006EUR2,00", ":64:")],
)  # fmt: skip
@pytest.mark.parametrize("dash", ["-", "--", " - ", "-\r\n-"])
def test_a_dash_between_the_fields_of_a_statement_does_not_end_it(
    tmp_path: Path, ends: tuple[str, str], dash: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.mt.mt_text._CHUNK", chunk)
    text = (
        ":20:S\r\n:25:10050000/1234567\r\n:28C:1/1\r\n:60F:C261005EUR1,00\r\n"
        ":61:2610061006CR1,00N062NONREF\r\n:86:166?00GUTSCHRIFT?20x\r\n"
        ":62F:C261006EUR2,00\r\n:64:C261006EUR2,00\r\n-\r\n"
    )
    broken = text.replace("\r\n".join(ends), f"\r\n{dash}\r\n".join(ends), 1)
    assert broken != text
    file = read_file(write(tmp_path, f"{broken}{text.replace('1,00N062', '1,00N063')}", "file.sta"))
    assert (
        rows(file.statements, "account", "message_id", "sequence_number", "proved")
        == [("10050000/1234567", "S", 1, True)] * 2
    )
    assert file.entries["account"].to_pylist() == ["10050000/1234567"] * 2


@pytest.mark.parametrize("chunk", [7, 1 << 18])
@pytest.mark.parametrize(
    "line",
    [":20:30 Uhr", ":13:45 Uhr", ":21:PAY-2026-004417", ":25:00 Uhr", ":28:15 Uhr",
     ":20: PAY-2026-004417", ":20:30\r\n:13:45"],
)  # fmt: skip
@pytest.mark.parametrize("has_more", [True, False])
def test_a_line_of_a_text_that_looks_like_a_field_stays_in_the_text(
    tmp_path: Path, line: str, has_more: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.mt.mt_text._CHUNK", chunk)
    movements = [":61:2610151015CR10,00NTRFNONREF", f":86:paid at 15\r\n{line}\r\nend"]
    closing = "C261031EUR110,00"
    if has_more:
        movements += [":61:2610151015CR5,00NTRFNONREF", ":86:second"]
        closing = "C261031EUR115,00"
    text = statement(*movements, closing=closing)
    again = statement(opening=closing, closing=closing, number="11")
    file = read(tmp_path, text, again)
    assert file.statements["proved"].to_pylist() == [True, True]
    lines = ["paid at 15", *line.split("\r\n"), "end"]
    assert "".join(file.entries["remittance"].to_pylist()[0]).split() == "".join(lines).split()


def test_a_line_below_a_closing_balance_that_looks_like_a_field_starts_no_statement(
    tmp_path: Path,
) -> None:
    text = statement(":61:2610151015CR10,00NTRFNONREF", closing="C261031EUR110,00")
    for line in (":20:30 Uhr", ":25:00 Uhr"):
        file = read(tmp_path, text.replace(f"{DASH}", f"\r\n:86:sent at 15\r\n{line}{DASH}"))
        assert file.statements["proved"].to_pylist() == [True]


def test_the_message_after_an_interim_report_without_balances_is_read(tmp_path: Path) -> None:
    one = ":20:A\r\n:25:123\r\n:28C:1\r\n:34F:EUR0,\r\n:61:2610151015CR1,NTRFNONREF\r\n:86:x\r\n"
    text = one + one.replace(":20:A", ":20:B") + "-\r\n" + one.replace(":20:A", ":20:C")
    file = read(tmp_path, text)
    assert file.statements["message_id"].to_pylist() == ["A", "B", "C"]
    assert file.entries["remittance"].to_pylist() == [["x"]] * 3


def test_a_text_continues_below_a_dash_in_the_last_movement_of_a_report(tmp_path: Path) -> None:
    one = ":20:A\r\n:25:123\r\n:28C:1\r\n:34F:EUR0,\r\n:61:2610151015CR1,NTRFNONREF\r\n:86:first"
    file = read(tmp_path, f"{one}{DASH}PAY-2026-004417{DASH}{one}{DASH}")
    assert file.entries["remittance"].to_pylist() == [["first", "-", "PAY-2026-004417"], ["first"]]


@pytest.mark.parametrize(
    ("line", "has_more", "chunk"),
    [
        (":62F: as agreed", True, 1 << 18),
        (":62F: as agreed", False, 1 << 18),
        (":62M:order 4417", False, 7),
        *((":62F:C261015EUR1,00", True, chunk) for chunk in (1 << 18, 7, 100, 160, 200, 240)),
        (":62F:D261015EUR1,00\r\n:62F:", True, 1 << 18),
        (":62F:D261015EUR1,00\r\n:62F:", True, 7),
    ],
)
def test_a_line_of_a_text_that_looks_like_a_closing_balance_stays_in_the_text(
    tmp_path: Path, line: str, has_more: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.mt.mt_text._CHUNK", chunk)
    movements = [":61:2610151015CR10,00NTRFNONREF", f":86:paid for\r\n{line}\r\nPAY-2026-004417"]
    closing = "C261031EUR110,00"
    if has_more:
        movements += [":61:2610151015CR5,00NTRFNONREF", ":86:second"]
        closing = "C261031EUR115,00"
    text = statement(*movements, closing=closing)
    file = read(tmp_path, text, statement(opening=closing, closing=closing, number="11"))
    assert file.statements["proved"].to_pylist() == [True, True]
    assert file.problems == ()
    texts = [" ".join(parts) for parts in file.entries["remittance"].to_pylist()]
    lines = ["paid for", *line.split("\r\n"), "PAY-2026-004417"]
    assert "".join(texts[0].split()) == "".join("".join(lines).split())
    assert texts[1:] == ["second"] * has_more


def test_an_unreadable_closing_balance_is_reported_and_not_taken_as_text(tmp_path: Path) -> None:
    text = statement(":61:2610151015CR10,00NTRFNONREF", ":86:paid", closing="nothing")
    file = read(tmp_path, text)
    assert file.entries["remittance"].to_pylist() == [["paid"]]
    assert "balance not read" in str(file.problems)
    assert file.statements["proved"].to_pylist() != [True]


def test_text_below_a_closing_balance_does_not_change_the_balance(tmp_path: Path) -> None:
    text = statement(":61:2610151015CR10,00NTRFNONREF", ":86:paid").replace(
        "\r\n-\r\n", "\r\n:86:see\r\n:62F: of the page\r\n-\r\n"
    )
    file = read(tmp_path, text)
    assert file.entries["remittance"].to_pylist() == [["paid"]]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize("chunk", [7, 120, 1 << 18])
def test_a_time_in_a_later_text_does_not_turn_an_earlier_line_into_a_closing_balance(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.mt.mt_text._CHUNK", chunk)
    one = (":61:2610151015CR4,00NTRFNONREF", ":86:first\r\n:62F:C261015EUR1,00")
    two = (":61:2610151015CR6,00NTRFNONREF", ":86:paid at\r\n:20:30 Uhr")
    file = read(tmp_path, statement(*one, *two))
    assert file.statements["proved"].to_pylist() == [True]
    texts = [" ".join(parts) for parts in file.entries["remittance"].to_pylist()]
    assert texts == ["first :62F:C261015EUR1,00", "paid at :20:30 Uhr"]
