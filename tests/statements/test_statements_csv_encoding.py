"""Code pages of CSV files that are not UTF-8: the text and the bank decide, or a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from camt_samples import write

from treasury.statements import (
    Proposal,
    StatementFile,
    load_profiles,
    propose_profile,
    read_file,
    to_toml,
)

LITHUANIAN = "LT601010012345678901"
BELGIAN = "BE68539007547034"


def content(text: str, encoding: str, *, header: str = "Date;Description;Amount") -> bytes:
    rows = f"2026-10-15;{text};-1.00\n2026-10-16;x;2.00\n"
    return f"{header}\n{rows}".encode(encoding)


def propose(
    folder: Path, data: bytes, account: str | None = None, **answers: str
) -> tuple[Proposal, StatementFile]:
    path = write(folder, data, "export.csv")
    return (
        propose_profile(path, account=account, answers=answers),
        read_file(path, account=account),
    )


SPELT = {
    "windows-1252": (
        "Überweisung für Müller & Söhne, Straße", "Société Générale: prélèvement à la crème",
        "Città, attività, perché, più", "Señor Muñoz, España", "København, Møller, Sørensen",
        "Malmö Åkerström", "São João, transferências", "België, coördinatie, Citroën", "Lefèvre",
        "François, reçu, garçon", "Genève", "Nærum, Håkon Lærøy", "Gebühr 5 € – siehe § 3",
        "naïf, Loïc, Anaïs", "Núñez, Ibáñez", "Müller, Café René",
    ),
    "windows-1257": (
        "Mokėjimas už paslaugas", "Mokėjimas", "maksājums", "Mokesčio suma", "nurodymą lėšų",
        "Petrauskienė", "Pārskaitījums, rēķins Nr. 5", "Bērziņš", "Čiurlionis", "į sąskaitą",
    ),
    "windows-1250": (
        "Zapłata za usługę", "Gdańsk", "Częstochowa", "plačilo", "Győr részére", "bănci",
        "Petrović", "příkaz k úhradě", "Dvořák", "Łódź", "Růžička",
    ),
    "iso-8859-2": ("Zapłata za usługę, Łódź",),
    "cp850": ("Überweisung Gehälter",),
}  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "text"), [(name, text) for name, texts in SPELT.items() for text in texts]
)
def test_a_text_that_fits_one_code_page_is_read_without_a_question(
    tmp_path: Path, encoding: str, text: str
) -> None:
    proposal, file = propose(tmp_path, content(text, encoding))
    assert proposal.questions == ()
    assert proposal.profile.encoding == ""
    assert file.entries["remittance"].to_pylist() == [[text], ["x"]]


AMBIGUOUS = {
    "Rīga": ("windows-1257", {"windows-1252": "Rîga", "windows-1257": "Rīga"}),
    "Jānis": ("windows-1257", {"windows-1252": "Jânis", "windows-1257": "Jānis"}),
    "Šiauliai": ("windows-1257", {"windows-1250": "Điauliai", "windows-1257": "Šiauliai"}),
    "Būsto": (
        "windows-1257",
        {"windows-1252": "Bûsto", "windows-1250": "Bűsto", "windows-1257": "Būsto"},
    ),
    "fűtés": ("windows-1250", {"windows-1252": "fûtés", "windows-1250": "fűtés"}),
    "Nîmes": ("windows-1252", {"windows-1252": "Nîmes", "windows-1257": "Nīmes"}),
}


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_a_text_that_fits_several_code_pages_opens_a_question_and_keeps_the_answer(
    tmp_path: Path, text: str
) -> None:
    encoding, readings = AMBIGUOUS[text]
    proposal, file = propose(tmp_path, content(text, encoding))
    (question,) = proposal.questions
    assert question.name == "encoding"
    assert {answer.word: answer.meaning for answer in question.answers} == readings
    assert (proposal.entries.num_rows, file.entries.num_rows, file.lost_count) == (0, 0, 2)
    assert any("(encoding: " in problem.what for problem in file.problems)
    for name, reading in readings.items():
        answered, _ = propose(tmp_path, content(text, encoding), encoding=name)
        assert answered.questions == ()
        assert answered.profile.encoding == name
        assert answered.entries["remittance"].to_pylist() == [[reading], ["x"]]
    write(tmp_path, to_toml(answered.profile), "bank.toml")
    kept = read_file(tmp_path / "export.csv", profiles=load_profiles(tmp_path))
    assert kept.entries["remittance"].to_pylist() == [[reading], ["x"]]
    utf_8 = write(tmp_path, content(text, "utf-8"), "later.csv")
    assert read_file(utf_8, profiles=load_profiles(tmp_path)).entries["remittance"].to_pylist() == [
        [text], ["x"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "encoding", "header", "account"),
    [
        ("Rīga", "windows-1257", "Datums;Apraksts;Summa", None),
        ("Būsto", "windows-1257", "Data;Paskirtis;Suma", None),
        ("Rīga", "windows-1257", "Date;Description;Amount", LITHUANIAN),
        ("Nîmes", "windows-1252", "Date;Libellé;Montant", None),
        ("Nîmes", "windows-1252", "Date;Description;Amount", BELGIAN),
        ("fűtés", "windows-1250", "Dátum;Közlemény;Összeg", None),
    ],
)
def test_the_bank_decides_among_code_pages_by_its_account_or_headers(
    tmp_path: Path, text: str, encoding: str, header: str, account: str | None
) -> None:
    answers = {"text": header.split(";")[1]}
    path = write(tmp_path, content(text, encoding, header=header), "export.csv")
    proposal = propose_profile(path, account=account, answers=answers)
    assert "encoding" not in {question.name for question in proposal.questions}
    assert proposal.profile.encoding == encoding
    assert proposal.entries["remittance"].to_pylist() == [[text], ["x"]]


def test_our_own_account_decides_the_code_page_but_other_accounts_do_not(
    tmp_path: Path,
) -> None:
    header = "IBAN;Counterparty IBAN;Date;Description;Amount"
    rows = [
        f"{LITHUANIAN};{BELGIAN};2026-10-15;Rīga;-1.00",
        f"{LITHUANIAN};;2026-10-16;x;2.00",
        f"{LITHUANIAN};;2026-10-17;y;2.00",
    ]
    data = "\n".join((header, *rows, "")).encode("windows-1257")
    proposal, _ = propose(tmp_path, data)
    assert proposal.questions == ()
    assert proposal.entries["remittance"].to_pylist()[0] == ["Rīga"]
    others, _ = propose(tmp_path, data.replace(LITHUANIAN.encode(), b"1"))
    assert [question.name for question in others.questions] == ["encoding"]


def test_a_known_profile_reads_an_ambiguous_file_and_names_other_matching_code_pages(
    tmp_path: Path,
) -> None:
    profile = propose(tmp_path, content("x", "ascii"))[0].profile
    write(tmp_path, to_toml(profile), "bank.toml")
    path = write(tmp_path, content("Rīga", "windows-1257"), "export.csv")
    file = read_file(path, profiles=load_profiles(tmp_path))
    assert file.entries["remittance"].to_pylist() == [["Rîga"], ["x"]]
    assert "read as Windows-1252; its letters fit Windows-1257 too" in str(file.problems)


def test_a_profile_with_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    text = to_toml(propose(tmp_path, content("x", "ascii"))[0].profile)
    write(tmp_path, text.replace("[columns]", 'encoding = "koi8-r"\n[columns]'), "bank.toml")
    with pytest.raises(Exception, match="not a profile"):
        load_profiles(tmp_path)


def test_an_answer_about_a_column_uses_the_chosen_code_page(
    tmp_path: Path,
) -> None:
    data = content("Jānis", "windows-1257", header="Date;Jānis x;Amount")
    asked, _ = propose(tmp_path, data, encoding="windows-1257")
    (question,) = asked.questions
    answered, _ = propose(tmp_path, data, encoding="windows-1257", text="Jānis x")
    assert (question.name, answered.questions) == ("text", ())
    assert answered.entries["remittance"].to_pylist() == [["Jānis"], ["x"]]
