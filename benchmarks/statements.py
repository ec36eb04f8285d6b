"""Benchmark of reading bank files, against other parsers on the same files.

    python -m benchmarks.statements [ENTRIES]

Each measurement runs in its own process, and both sides alternate. Ratios are those of median CPU
seconds; for the folder, of median wall-clock seconds. The comparisons are: camt.053 against
`lxml.etree.iterparse`, which only finds the entries; MT940 against the library mt-940; cp1250
against UTF-8; a folder on two processes against one; and adding a thousand small files to a lake
against only reading them. `--large` also measures the memory for files of about 300 MB.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

ENTRIES = 200_000
CSV_ROWS = 1_200_000
FILES = 1_000
ROUNDS = 3
OURS = "BE68539007547034"


def camt_entry(n: int) -> tuple[str, int]:
    """Return a bank's entry of about 1,100 bytes, and its signed amount in cents."""
    into = n % 3 != 0
    side, other = ("Dbtr", "Cdtr") if into else ("Cdtr", "Dbtr")
    cents = 100 + n * 7919 % 99_991
    amount = f"{cents // 100}.{cents % 100:02d}"
    day = f"2026-10-{1 + n % 28:02d}"
    way = "CRDT" if into else "DBIT"
    text = (
        f'<Ntry><NtryRef>{n:010d}</NtryRef><Amt Ccy="EUR">{amount}</Amt>'
        f"<CdtDbtInd>{way}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt>"
        f"<ValDt><Dt>{day}</Dt></ValDt><AcctSvcrRef>BANK{n:012d}</AcctSvcrRef><BkTxCd><Domn>"
        f"<Cd>PMNT</Cd><Fmly><Cd>{'RCDT' if into else 'ICDT'}</Cd><SubFmlyCd>ESCT</SubFmlyCd>"
        f"</Fmly></Domn></BkTxCd><NtryDtls><TxDtls><Refs><MsgId>MSG{n:010d}</MsgId>"
        f"<InstrId>INSTR{n:010d}</InstrId><EndToEndId>E2E-{n:012d}</EndToEndId>"
        f'<TxId>TX{n:014d}</TxId></Refs><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{way}</CdtDbtInd>'
        f"<RltdPties><{side}><Pty><Nm>Customer {n % 5000} &amp; Sons</Nm></Pty></{side}>"
        f"<{side}Acct><Id><IBAN>BE{n % 5000:014d}</IBAN></Id></{side}Acct><{other}><Pty>"
        f"<Nm>Practice Trading</Nm></Pty></{other}></RltdPties><RltdAgts><{side}Agt><FinInstnId>"
        f"<BICFI>TESTBEBB</BICFI></FinInstnId></{side}Agt></RltdAgts><RmtInf>"
        f"<Ustrd>Invoice {n:08d} of October, contract {n % 777}, with thanks</Ustrd></RmtInf>"
        f"</TxDtls></NtryDtls></Ntry>\n"
    )
    return text, cents if into else -cents


def write_camt(
    path: Path, entries: int, *, opening: int = 0, number: int = 1, first: int = 0
) -> int:
    """Write a statement of entries numbered from `first`; return its closing balance in cents."""
    numbers = range(first, first + entries)
    closing = opening + sum(camt_entry(n)[1] for n in numbers)
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>'
            f"<GrpHdr><MsgId>M{number}</MsgId></GrpHdr><Stmt><Id>S{number}</Id>"
            f"<ElctrncSeqNb>{number}</ElctrncSeqNb><CreDtTm>2026-11-01T01:00:00</CreDtTm>"
            f"<Acct><Id><IBAN>{OURS}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
            + _balance("OPBD", opening, "2026-10-01")
            + _balance("CLBD", closing, "2026-10-31")
        )
        for n in numbers:
            file.write(camt_entry(n)[0])
        file.write("</Stmt></BkToCstmrStmt></Document>")
    return closing


def _balance(code: str, cents: int, day: str) -> str:
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
        f'<Amt Ccy="EUR">{Decimal(abs(cents)).scaleb(-2)}</Amt>'
        f"<CdtDbtInd>{'CRDT' if cents >= 0 else 'DBIT'}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
    )


def write_mt940(
    path: Path, entries: int, *, word: str = "Invoice", encoding: str = "utf-8"
) -> None:
    cents = [100 + n * 7919 % 99_991 for n in range(entries)]
    lines = [":20:STARTUMSE", f":25:{OURS}", ":28C:00001/001", ":60F:C261001EUR0,00"]
    for n, each in enumerate(cents):
        day = 1 + n % 28
        lines += [
            f":61:2610{day:02d}10{day:02d}C{each // 100},{each % 100:02d}NTRFNONREF//B{n:012d}",
            f":86:166?00GUTSCHRIFT?109075?20EREF+E2E-{n:010d}?21SVWZ+{word} {n:08d}",
            f"?22contract {n % 777}?30TESTBEBB?31BE{n % 5000:014d}?32Customer {n % 5000}",
        ]
    total = Decimal(sum(cents)).scaleb(-2)
    lines += [f":62F:C261031EUR{total}".replace(".", ","), "-", ""]
    path.write_text("\n".join(lines), encoding)


def write_csv(path: Path, rows: int) -> None:
    """Write a CSV export of KBC, with a running balance in each row."""
    balance = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(
            "Rekeningnummer;Rubrieknaam;Naam;Munt;Afschriftnummer;Datum;Omschrijving;Valuta;Bedrag;"
            "Saldo;credit;debet;rekeningnummer tegenpartij;BIC tegenpartij;Naam tegenpartij;"
            "Adres tegenpartij;gestructureerde mededeling;Vrije mededeling\n"
        )
        for n in range(rows):
            cents = 100 + n * 7919 % 99_991
            balance += cents
            amount = f"{cents // 100},{cents % 100:02d}"
            day = f"{1 + n * 28 // rows:02d}/10/2026"
            file.write(
                f"{OURS};;Practice Trading;EUR;  02026001;{day};OVERSCHRIJVING VAN KLANT {n % 5000}"
                f" MET REFERTE {n:012d};{day};{amount};{balance // 100},{balance % 100:02d};"
                f"{amount};;BE{n % 5000:014d};TESTBEBB;Klant {n % 5000};Straat 1, 1000 Brussel;;"
                f"Factuur {n:08d} van oktober, contract {n % 777}, met dank\n"
            )


def side(name: str, path: Path) -> dict[str, float]:
    """Run one measurement in this process, without the time of imports."""
    room = importlib.import_module("treasury.statements")
    # The package imports its modules on first access, so access them before the measured time.
    for offered in room.__all__:
        getattr(room, offered)
    importlib.import_module("mt940" if name == "mt-940" else "lxml.etree")
    done = SIDES[name](path)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {**done, "peak_mb": usage.ru_maxrss / 1024}


def _timed(work: object, path: Path) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    count = work(path)  # type: ignore[operator]
    return {
        "count": count,
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
    }


def bare_xml(path: Path) -> int:
    from lxml import etree

    count = 0
    for _, element in etree.iterparse(path, tag="{*}Ntry"):
        count += 1
        element.clear()
    return count


def ours(path: Path) -> int:
    from treasury.statements import read_batches

    return sum(batch.num_rows for batch in read_batches(path))


def mt_940(path: Path) -> int:
    import mt940

    return len(mt940.parse(str(path)).transactions)


def folder(path: Path, workers: int) -> int:
    from treasury.statements import read_statements

    return len(read_statements([path], workers=workers).entries)


def adding(path: Path) -> int:
    from treasury.lake import Lake
    from treasury.statements import TABLES, add_statements

    with tempfile.TemporaryDirectory() as workspace:
        now = datetime(2026, 11, 2, 8, tzinfo=UTC)
        lake = Lake(Path(workspace), TABLES)
        return add_statements(lake, [path], now, declared={OURS: "own_bank"}).entries_new


SIDES = {
    "iterparse": lambda path: _timed(bare_xml, path),
    "ours": lambda path: _timed(ours, path),
    "UTF-8": lambda path: _timed(ours, path),
    "cp1250": lambda path: _timed(ours, path.with_suffix(".cp1250")),
    "mt-940": lambda path: _timed(mt_940, path),
    "one core": lambda path: _timed(lambda p: folder(p, 1), path),
    "two cores": lambda path: _timed(lambda p: folder(p, 2), path),
    "reading": lambda path: _timed(lambda p: folder(p, 1), path),
    "adding": lambda path: _timed(adding, path),
}


def measured(
    names: tuple[str, str], path: Path, rounds: int = ROUNDS
) -> dict[str, dict[str, float]]:
    """Run both sides alternately, each time in a new process, and return the medians."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            command = [sys.executable, "-m", "benchmarks.statements", "--side", name, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            runs[name].append(json.loads(done.stdout))
    return {
        name: {key: statistics.median(run[key] for run in several) for key in several[0]}
        for name, several in runs.items()
    }


def report(what: str, value: float, wanted: str, more: str = "") -> None:
    print(f"{what:<46} {value:>7.2f}   wanted {wanted:<8} {more}", flush=True)


def main(entries: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        camt = here / "camt.xml"
        write_camt(camt, entries)
        both = measured(("iterparse", "ours"), camt)
        bare, mine = both["iterparse"], both["ours"]
        size = camt.stat().st_size / 2**20
        per_second = mine["count"] / mine["cpu"], bare["count"] / bare["cpu"]
        report(
            f"camt.053, {entries:,} entries, {size:.0f} MB: ratio",
            per_second[0] / per_second[1],
            ">= 0.30",
            f"{per_second[0]:,.0f} of {per_second[1]:,.0f} entries per CPU second",
        )
        report("  peak memory, MB", mine["peak_mb"], "< 200")
        if "--large" in sys.argv:
            large = here / "large.xml"
            write_camt(large, round(entries * 300 / size))
            report("  peak memory at 300 MB, MB", side_of("ours", large)["peak_mb"], "< 200")
            report("  peak memory of adding it, MB", side_of("adding", large)["peak_mb"], "< 400")
            large.unlink()
            table = here / "large.csv"
            write_csv(table, CSV_ROWS)
            size_mb = table.stat().st_size / 2**20
            peak = side_of("ours", table)["peak_mb"]
            report(f"  peak memory of reading a CSV of {size_mb:.0f} MB", peak, "< 200")
            table.unlink()
        several = here / "folder"
        several.mkdir()
        for number in range(4):
            write_camt(several / f"{number}.xml", entries // 4, number=number)
        both = measured(("one core", "two cores"), several)
        seconds = both["two cores"]["wall"], both["one core"]["wall"]
        report(
            "folder of 4 files, two cores / one: wall",
            seconds[0] / seconds[1],
            "<= 0.60",
            f"{seconds[0]:.1f} s of {seconds[1]:.1f} s",
        )
        mt = here / "mt.sta"
        write_mt940(mt, entries // 2)
        both = measured(("mt-940", "ours"), mt)
        report(
            f"MT940, {entries // 2:,} entries: times faster",
            both["mt-940"]["cpu"] / both["ours"]["cpu"],
            ">= 5",
            f"{both['ours']['count'] / both['ours']['cpu']:,.0f} entries per CPU second",
        )
        for encoding, suffix in (("utf-8", ".sta"), ("cp1250", ".cp1250")):
            path = mt.with_suffix(suffix)
            write_mt940(path, entries // 2, word="Zapłata za fakturę", encoding=encoding)
        both = measured(("UTF-8", "cp1250"), mt)
        report("  in cp1250 / in UTF-8", both["cp1250"]["cpu"] / both["UTF-8"]["cpu"], "<= 1.3")
        small = here / "small"
        small.mkdir()
        balance = 0
        for n in range(FILES):
            path = small / f"{n:04d}.xml"
            balance = write_camt(path, 5, opening=balance, number=n + 1, first=5 * n)
        both = measured(("reading", "adding"), small)
        report(
            f"{FILES:,} files of 5 entries, adding / reading",
            both["adding"]["cpu"] / both["reading"]["cpu"],
            "< 3",
            f"{both['adding']['cpu']:.1f} s of {both['reading']['cpu']:.1f} s of CPU, "
            f"{both['adding']['count']:,.0f} rows stored",
        )


def side_of(name: str, path: Path) -> dict[str, float]:
    return measured((name, name), path, rounds=1)[name]


if __name__ == "__main__":
    if "--side" in sys.argv:
        at = sys.argv.index("--side")
        print(json.dumps(side(sys.argv[at + 1], Path(sys.argv[at + 2]))))
    else:
        numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
        main(numbers[0] if numbers else ENTRIES)
