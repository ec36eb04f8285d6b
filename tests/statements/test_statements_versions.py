"""Several versions of a statement: one counts in any order of arrival; others are reported."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from camt_samples import OURS, detail, document, entry, rows, statement, write

from treasury.lake import Lake
from treasury.statements import TABLES, AddReport, add_statements, check_statements, read_statements
from treasury.statements.store.withdraw import find_statement, withdraw_statement

pytestmark = pytest.mark.long_file

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
MT = ":20:A\n:25:{}\n:28C:5/1\n:60F:C261001EUR1,\n{}:62F:C261002EUR{},\n-"
MOVED = ":61:261002C{},NMSC\n:86:{}\n"


def version(closing: int, *moved: tuple[int, str]) -> str:
    """Return an MT940 statement, which has no creation time."""
    return MT.format(OURS, "".join(MOVED.format(*one) for one in moved), closing)


REFERENCED = entry("5.00", "CRDT", detail("{}"), more="<AcctSvcrRef>R1</AcctSvcrRef>")
WORDS = version(2, (1, "as it was")), version(2, (1, "as it is"))
SUMS = version(2, (1, "a")), version(6, (1, "a"), (4, "b"))
REFERENCES = (
    document(statement(REFERENCED.format("INV 1"), closing="105.00")),
    document(statement(REFERENCED.format("INV 2"), closing="105.00")),
)
TWINS = version(4, (1, "a"), (1, "a"), (1, "b")), version(4, (1, "a"), (1, "b"), (1, "b"))
UNPROVED = version(9, (1, "a")), version(9, (2, "b"))
PAIRS = [WORDS, SUMS, REFERENCES, TWINS, UNPROVED]
NAMES = ["words", "sums", "references", "twins", "unproved"]


class Desk:
    """A lake to which each call of `add` adds files, one day later than the call before."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.lake = Lake(folder / name, TABLES)
        self.count = 0

    def path(self, text: str, name: str) -> Path:
        return write(self.folder, text, name)

    def paths(self, pair: tuple[str, str]) -> list[Path]:
        return [self.path(pair[0], "a.txt"), self.path(pair[1], "b.txt")]

    def add(self, *paths: Path) -> AddReport:
        self.count += 1
        now = NOW + timedelta(days=self.count)
        return add_statements(self.lake, paths, now, declared={OURS: "own_bank"})

    def state(self) -> tuple[pa.Table, pa.Table]:
        """Return the lake's rows without the time of adding and the position in a file."""
        snapshot = self.lake.snapshot()
        return (
            snapshot.sql(
                "SELECT * EXCLUDE (valid_from, added_at) FROM statements ORDER BY statement_id"
            ),
            snapshot.sql(
                "SELECT entry_id, entry_status, is_twin, amount, remittance, file_name, raw"
                " FROM statement_entries ORDER BY entry_id"
            ),
        )

    def booked(self) -> list[tuple[object, ...]]:
        query = (
            "SELECT * FROM statement_entries WHERE entry_status = 'BOOK' AND vanished_at IS NULL"
        )
        return rows(self.lake.snapshot().sql(f"{query} ORDER BY amount"), "file_name")

    def only_proof(self) -> tuple[bool, str]:
        stored = self.lake.snapshot().sql("SELECT * FROM statements WHERE vanished_at IS NULL")
        ((proved, proof),) = rows(stored, "proved", "proof")
        return bool(proved), str(proof)


@pytest.mark.acceptance
@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_of_versions_of_equal_rank_one_counts_in_any_order_and_both_are_reported(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    states = []
    for order in ("ab", "ba", "a then b", "b then a"):
        desk = Desk(tmp_path, order)
        paths = {
            name: desk.path(text, f"{name}.txt") for name, text in zip("ab", pair, strict=True)
        }
        calls = [[paths[name] for name in names] for names in order.split(" then ")]
        reports = [desk.add(*call) for call in calls]
        states.append(desk.state())
        proved, _ = desk.only_proof()
        assert not proved
        assert len({name for (name,) in desk.booked()}) == 1
        assert "states it differently and neither version is newer" in str(reports[-1])
        for call in (*calls, *calls[-2::-1]):
            again = desk.add(*call)
            assert (again.entries_new, again.entries_changed) == (0, 0)
            assert desk.state() == states[-1]
    assert all(state == states[0] for state in states)


@pytest.mark.acceptance
@pytest.mark.parametrize("pair", PAIRS[:4], ids=NAMES[:4])
@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("right", ["a", "b"])
def test_withdrawing_and_adding_again_settles_which_version_counts(
    tmp_path: Path, pair: tuple[str, str], order: str, right: str
) -> None:
    desk = Desk(tmp_path, "lake")
    paths = dict(zip("ab", desk.paths(pair), strict=True))
    for name in order:
        desk.add(paths[name])
    ((key,),) = rows(desk.state()[0], "statement_id")
    stored = find_statement(desk.lake.snapshot(), str(key))
    withdraw_statement(desk.lake, stored, NOW + timedelta(days=5), {})
    desk.count = 6
    report = desk.add(paths[right])
    assert [one.proved for one in report.statements] == [True]
    assert {name for (name,) in desk.booked()} == {f"{right}.txt"}
    settled = desk.state()
    for path in (paths["a"], paths["b"], paths["a"]):
        desk.add(path)
        assert desk.state() == settled


@pytest.mark.acceptance
def test_three_versions_of_equal_rank_leave_the_same_state_in_every_order(tmp_path: Path) -> None:
    texts = [version(2, (1, words)) for words in ("one", "two", "three")]
    states = []
    for order in permutations(range(3)):
        desk = Desk(tmp_path, "".join(map(str, order)))
        for number in order:
            desk.add(desk.path(texts[number], f"{number}.txt"))
        states.append(desk.state())
        assert len(desk.booked()) == 1
    assert all(state == states[0] for state in states)
    assert len(states[0][0]["rivals"].to_pylist()[0]) == 2


@pytest.mark.acceptance
@pytest.mark.parametrize("order", [1, -1])
def test_a_proved_version_takes_precedence_over_a_newer_unproved_one(
    tmp_path: Path, order: int
) -> None:
    proved = document(statement(entry("5.00"), closing="105.00"))
    newer = document(statement(entry("6.00"), closing="105.00")).replace("T23:00:", "T23:30:")
    desk = Desk(tmp_path, "lake")
    for name, text in [("proved", proved), ("newer", newer)][::order]:
        desk.add(desk.path(text, name))
    assert desk.booked() == [("proved",)]
    assert desk.only_proof()[0]


HEAD = (
    "Transaction Date,Transaction Type,Sort Code,Account Number,Transaction Description,"
    "Debit Amount,Credit Amount,Balance\n"
)
LINES = [
    "01/10/2026,FPI,'10-00-00,123,A,,100.00,100.00\n",
    "01/10/2026,FPI,'10-00-00,123,B,,5.00,105.00\n",
    "01/10/2026,FPI,'10-00-00,123,C,,3.00,108.00\n",
    "01/10/2026,FPI,'10-00-00,123,D,,1.00,109.00\n",
]


@pytest.mark.acceptance
@pytest.mark.first_case
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_later_export_of_an_incomplete_day_continues_the_earlier_one(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    desk = Desk(tmp_path, "lake")
    for number in order:
        desk.add(desk.path(HEAD + "".join(LINES[: number + 2]), f"{number}.csv"))
    assert len(desk.booked()) == 4
    ((rivals,),) = rows(desk.state()[0], "rivals")
    assert rivals is None


@pytest.mark.parametrize("is_same", [True, False])
def test_check_reports_versions_of_equal_rank_that_are_read_together(
    tmp_path: Path, is_same: bool
) -> None:
    texts = (WORDS[0], WORDS[0] if is_same else WORDS[1])
    paths = [write(tmp_path, text, f"{n}.txt") for n, text in enumerate(texts)]
    checks = check_statements(read_statements(paths)).arrow
    assert checks["proved"].to_pylist() == [is_same, is_same]
    first, second = checks["proof"].to_pylist()
    assert ("1.txt (SHA-256 " in first, "0.txt (SHA-256 " in second) == (not is_same, not is_same)


@pytest.mark.acceptance
def test_a_statement_with_other_line_breaks_is_the_same_version(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, "lake")
    text = document(statement(entry("5.00", "CRDT", detail("INV 1")), closing="105.00"))
    desk.add(desk.path(text, "a.xml"))
    before = desk.state()
    desk.add(desk.path(text.replace("><", ">\r\n  <"), "b.xml"))
    assert desk.state() == before


@pytest.mark.first_case
@pytest.mark.parametrize("order", [1, -1])
def test_statements_with_equal_number_and_day_but_other_openings_are_both_doubtful(
    tmp_path: Path, order: int
) -> None:
    desk = Desk(tmp_path, "lake")
    text = version(2, (1, "a"))
    other = text.replace("EUR1,", "EUR7,").replace("EUR2,", "EUR8,")
    for name, each in [("a.txt", text), ("b.txt", other)][::order]:
        desk.add(desk.path(each, name))
    stored = desk.lake.snapshot().sql("SELECT proved, proof FROM statements ORDER BY file_name")
    assert stored["proved"].to_pylist() == [False, False]
    first, second = stored["proof"].to_pylist()
    assert "the bank gave number 5 to another statement too (b.txt" in first
    assert "the bank gave number 5 to another statement too (a.txt" in second
