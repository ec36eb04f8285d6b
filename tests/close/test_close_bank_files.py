"""A company with only bank files closes its months; one with services must sync them first."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from signed import ANNA, BERT

from treasury.cli import treasury
from treasury.close.checklist import checklist
from treasury.core.errors import ActionRefused, NothingStored
from treasury.core.settings import FILE_NAME
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

CAMT = "BE68539007547034"
SETTINGS = f"""\
[workspace]
company = "Mill NV"
environment = "sandbox"
now = 2026-11-02T08:00:00Z

[[accounts]]
account = "{CAMT}"
currency = "EUR"
source = "own_bank"
"""
_ENTRY = """<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{way}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt></ValDt></Ntry>"""
_BALANCE = """<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"""
_STATEMENT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-10-31T20:00:00</CreDtTm></GrpHdr><Stmt><Id>S1</Id>
<CreDtTm>2026-10-31T20:00:00</CreDtTm><FrToDt><FrDtTm>2026-10-01T00:00:00</FrDtTm>
<ToDtTm>2026-10-31T23:59:59</ToDtTm></FrToDt><Acct><Id><IBAN>{account}</IBAN></Id><Ccy>EUR</Ccy>
</Acct>{content}</Stmt></BkToCstmrStmt></Document>"""


def camt() -> str:
    """Return an October statement of EUR 1,000.00 to 1,150.25 with two entries, as camt.053."""
    content = [
        _BALANCE.format(code="OPBD", amount="1000.00", day="2026-10-01"),
        _BALANCE.format(code="CLBD", amount="1150.25", day="2026-10-31"),
        _ENTRY.format(amount="250.50", way="CRDT", day="2026-10-05"),
        _ENTRY.format(amount="100.25", way="DBIT", day="2026-10-20"),
    ]
    return _STATEMENT.format(account=CAMT, content="".join(content))


def desk_of(folder: Path, settings: str = SETTINGS) -> Workspace:
    """Write the settings into a folder, and return its workspace."""
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / FILE_NAME).write_text(settings, "utf-8")
    return Workspace(folder)


@pytest.fixture
def desk(tmp_path: Path) -> Workspace:
    """Return a desk without services that has one proved statement for October."""
    workspace = desk_of(tmp_path / "desk")
    (tmp_path / "october.xml").write_text(camt(), "utf-8")
    workspace.statements.add(tmp_path / "october.xml")
    return workspace


def test_a_company_with_bank_files_alone_closes_its_month(desk: Workspace, tmp_path: Path) -> None:
    screen = desk.status("2026-10")
    assert "CLOSE        ready to close: balances proved, lines not reconciled" in screen
    assert "FEES         not used here" in screen
    assert "treasury sync" not in screen
    morning = desk.status()
    assert "services not used here" in morning.splitlines()[0]
    assert "treasury sync" not in morning
    assert morning.listed("decide").by_id.keys() == desk.open_items("2026-10").by_id.keys()
    for ask in (desk.awaiting_funds, desk.fees, desk.exposure):
        with pytest.raises(NothingStored, match="not used here") as unused:
            ask()
        assert "treasury sync" not in str(unused.value.do)
    items = desk.open_items("2026-10")
    assert {item.kind for item in items} == {"not_reconciled"}
    assert len(items) == 2
    steps = {step.title: step for step in desk.checklist("2026-10").steps}
    for title in ("Sync", "In transit", "Roll-forward"):
        assert steps[title].state == "not asked"
        assert "not used here" in steps[title].found
    assert "everything required is in order" in str(desk.doctor())
    assert "not used here" in str(desk.doctor())
    desk.periods.prepare("2026-10", actor=ANNA)
    desk.periods.sign("2026-10", actor=BERT)
    pack = desk.close("2026-10", tmp_path / "pack")
    page = pack.report.read_text("utf-8")
    assert "balances proved, lines not reconciled" in page.lower()
    assert "Not used here." in page
    assert verify_pack(pack.folder).holds
    assert desk.periods.verify("2026-10").answer.lines.arrow.num_rows == 2


@pytest.mark.acceptance
def test_a_company_with_services_that_were_never_read_does_not_close(
    desk: Workspace,
) -> None:
    services = (
        '[services]\ntoken_url = "http://127.0.0.1:9/token"\n'
        'finance.base_url = "http://127.0.0.1:9/f/v1"\nramp.base_url = "http://127.0.0.1:9/r/v1"\n'
    )
    with_services = desk_of(desk.folder, SETTINGS + services)
    kinds = {item.kind for item in with_services.open_items("2026-10").blocking}
    assert kinds == {"not_synced", "no_reference"}
    with pytest.raises(ActionRefused, match="Services not read after the month's end"):
        with_services.periods.prepare("2026-10", actor=ANNA)


def test_a_signed_close_records_that_the_desk_uses_no_services(
    desk: Workspace,
) -> None:
    desk.periods.prepare("2026-10", actor=ANNA)
    close = desk.periods.sign("2026-10", actor=BERT).period
    assert close is not None
    assert close.close.desk["uses_services"] is False
    closing = desk.periods.month("2026-10")
    assert {step.title for step in checklist(closing).steps if step.state == "open"} == set()


@pytest.mark.acceptance
def test_removing_the_services_from_the_settings_does_not_unblock_a_close(
    month_end: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    text = (tmp_path / "desk" / FILE_NAME).read_text("utf-8")
    head, _, rest = text.partition("[services]")
    _, _, accounts = rest.partition("[[accounts]]")
    desk = desk_of(tmp_path / "desk", f"{head}[[accounts]]{accounts}")
    assert desk.settings.services is None
    items = desk.open_items("2026-10")
    assert not items.select(kind="not_reconciled")
    assert items.select(kind="no_reference").blocking
    assert "put [services] back" in str(desk.doctor())


GERMAN = "DE89370400440532013000"
_HEAD = (
    '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";'
    '"Glaeubiger ID";"Mandatsreferenz";"Kundenreferenz (End-to-End)";"Sammlerreferenz";'
    '"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWIFT-Code)";"Betrag";'
    '"Waehrung";"Info"\n'
)
LINES = (("30.10.26", "1.250,50"), ("06.10.26", "-800,25"))


def export(path: Path, lines: tuple[tuple[str, str], ...] = LINES) -> Path:
    """Write a German bank's CSV export, which has no balances."""
    rows = [
        f'"{GERMAN}";"{day}";"{day}";"X";"Rechnung";"";"";"";"";"Immo KG";"DE91";"X";"{amount}";'
        '"EUR";"Umsatz gebucht"\n'
        for day, amount in lines
    ]
    path.write_text(_HEAD + "".join(rows), "latin-1")
    return path


@pytest.fixture
def german(tmp_path: Path) -> Workspace:
    """Return a desk with October's CSV export of one account, without balances."""
    workspace = desk_of(tmp_path / "german", SETTINGS.replace(CAMT, GERMAN))
    workspace.statements.add(export(tmp_path / "october.csv"))
    return workspace


def confirm(desk: Workspace, *balances: tuple[str, str]) -> None:
    for day, balance in balances:
        desk.statements.confirm(GERMAN, balance, day, source="online banking", actor=ANNA)


@pytest.mark.acceptance
def test_two_confirmed_balances_prove_an_account_if_the_lines_connect_them(
    german: Workspace, tmp_path: Path
) -> None:
    (missing,) = german.open_items("2026-10").select(kind="statement_missing")
    assert f"treasury statements confirm {GERMAN} --date 2026-09-30" in missing.next_step
    confirm(german, ("2026-09-30", "100.00"), ("2026-10-31", "550.25"))
    (balance,) = german.periods.month("2026-10").balances.arrow.to_pylist()
    assert (balance["proved"], balance["proved_by"]) == (True, "confirmed balances")
    assert (str(balance["opening"])[:6], str(balance["closing"])[:6]) == ("100.00", "550.25")
    german.periods.prepare("2026-10", actor=ANNA)
    german.periods.sign("2026-10", actor=BERT)
    assert verify_pack(german.close("2026-10", tmp_path / "pack").folder).holds


@pytest.mark.first_case
@pytest.mark.parametrize(
    "balances",
    [
        (("2026-09-30", "100.00"), ("2026-10-31", "550.26")),
        (("2026-10-01", "100.00"), ("2026-10-31", "550.25")),
        (("2026-09-30", "100.00"), ("2026-10-15", "100.00"), ("2026-10-31", "550.25")),
        (("2026-10-31", "550.25"),),
    ],
    ids=["a cent off", "the first day is not shown", "one between contradicts", "only one"],
)
def test_balances_that_the_lines_do_not_connect_prove_nothing(
    german: Workspace, balances: tuple[tuple[str, str], ...]
) -> None:
    confirm(german, *balances)
    closing = german.periods.month("2026-10")
    assert closing.items.select(kind="statement_missing").blocking
    assert not closing.balances.arrow["proved"][0].as_py()


@pytest.mark.acceptance
def test_a_statement_with_another_balance_contradicts_confirmed_balances(
    german: Workspace, tmp_path: Path
) -> None:
    confirm(german, ("2026-09-30", "100.00"), ("2026-10-31", "550.25"))
    assert german.periods.month("2026-10").balances.arrow["proved"][0].as_py()
    other = tmp_path / "other.xml"
    other.write_text(camt().replace(CAMT, GERMAN), "utf-8")
    german.statements.add(other)
    assert german.open_items("2026-10").blocking


POSTINGS = """\
Datum;Konto;Soll;Haben;Währung;Buchungstext;Beleg
01.10.2026;1200;1.000,00;;EUR;Saldovortrag;
05.10.2026;1200;250,50;;EUR;Kunde Meier;R1
20.10.2026;1200;;100,25;EUR;Miete;R2
01.10.2026;1210;100,00;;EUR;Saldovortrag;
06.10.2026;1210;;800,25;EUR;Immo KG;R3
30.10.2026;1210;1.250,50;;EUR;Immo KG;R4
31.10.2026;1210;;30,00;EUR;Zahlungslauf;R5
"""
MAPPING = f'[accounts]\n"bank {CAMT}" = "1200"\n"bank {GERMAN}" = "1210"\n'


@pytest.mark.acceptance
def test_two_people_close_two_bank_files_and_the_books_in_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, statement, postings = (tmp_path / name for name in ("desk", "october.xml", "books.csv"))
    statement.write_text(camt(), "utf-8")
    postings.write_text(POSTINGS, "cp1252")
    lines = export(tmp_path / "umsaetze.csv")

    def shell(*arguments: object, person: str = "anna") -> str:
        monkeypatch.setenv("TREASURY_USER", person)
        words = ["-w", str(desk), *map(str, arguments)]
        done = CliRunner().invoke(treasury, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    files = ("--bank-file", statement, "--bank-file", lines)
    company = ("--company", "Mill NV", "--environment", "sandbox")
    began = shell("init", "--no-ask", *company, *files)
    assert "next: run `treasury statements confirm" in began
    settings = (desk / FILE_NAME).read_text("utf-8")
    now = 'environment = "sandbox"\nnow = 2026-11-02T08:00:00Z'
    (desk / FILE_NAME).write_text(settings.replace('environment = "sandbox"', now), "utf-8")
    blocked = shell("close", "2026-10", "--books", postings)
    assert "[-] Balances 1 not proved" in blocked
    # The ledger's accounts are not mapped yet, so nothing is compared.
    assert "[-] Ledger Books on 31 October 2026: 0 of 2 accounts compared" in blocked
    assert "gives to no bank account: 1200 (EUR), 1210 (EUR)" in blocked
    assert "2026-10 is not prepared: Statement not complete: 1" in blocked
    assert f'"bank {GERMAN}"' in shell("export", "--month", "2026-10", "--mapping-template")
    (desk / "accounts.toml").write_text(MAPPING, "utf-8")
    hint = re.search(
        r"treasury (statements confirm \S+ --date) (\S+) .* the same for ([0-9-]+)", blocked
    )
    assert hint is not None
    command, *days = hint.groups()
    for day, balance in zip(days, ("100,00", "550,25"), strict=True):
        shell(*command.split(), day, "--balance", balance, "--source", "online banking")
    books = shell("books", "2026-10")
    assert "2 accounts compared, 0 to look at; 1 outstanding item" in books
    assert f"EUR …{CAMT[-4:]}: agrees Balance per bank" in books
    assert "R5 Zahlungslauf EUR -30.00" in books
    prepared = shell("close", "2026-10")
    assert "[x] Balances 1 by confirmed balances, 1 by statements" in prepared
    assert "[x] Ledger Books on 31 October 2026: 2 accounts compared" in prepared
    assert "prepared by anna, 2 Nov 09:00 CET; a second person signs" in prepared
    with pytest.raises(ActionRefused, match="anna prepared 2026-10, and the preparer does not"):
        shell("close", "2026-10", "--sign")
    signed = shell("close", "2026-10", "--sign", person="bert")
    assert "[x] Lock closed by anna, reviewed by bert, 2 Nov 09:00 CET" in signed
    pack = desk / "close" / "2026-10"
    for how in ((), ("--with-workspace",)):
        assert "is reproduced from its own inputs" in shell("verify", pack, *how)
    month = shell("status", "2026-10")
    assert "CLOSE closed, 4 open items did not block; balances proved, lines not rec" in month
    assert "everything required is in order" in shell("doctor")
