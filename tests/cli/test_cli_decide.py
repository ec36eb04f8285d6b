"""The decision commands, run by a person or a program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner, Result
from pain_samples import payment, report
from signed import close_month

from treasury.cli import treasury
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor
from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import RULES_FILE, Workspace


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    monkeypatch.setenv("TREASURY_USER", "anna")
    return Workspace(folder)


def run(desk: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury, ["--workspace", str(desk.folder), *arguments], catch_exceptions=False
    )


def rows(desk: Workspace, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(desk, *arguments, "--format", "json").stdout)
    return found


@pytest.mark.acceptance
def test_a_month_without_decisions_has_no_changed_decision(desk: Workspace) -> None:
    assert rows(desk, "match", "list", "--moved") == []


@pytest.mark.acceptance
def test_reconcile_and_match_show_the_same_open_lines(desk: Workspace) -> None:
    needed = rows(desk, "reconcile", "--month", "2026-10", "--open")
    assert {row["outcome"] for row in needed} == {
        "suggested", "conflict", "duplicate", "unreferenced",
    }  # fmt: skip
    assert [row["entry_id"] for row in needed] == [
        row["entry_id"] for row in rows(desk, "match", "open")
    ]


@pytest.mark.acceptance
def test_a_line_is_found_accepted_listed_and_undone(desk: Workspace) -> None:
    line = next(
        row
        for row in rows(desk, "match", "open")
        if row["outcome"] == "suggested" and row["direction"] == "out"
    )
    name, reference = line["entry_id"][:12], line["suggestion"]
    assert "not written" in run(desk, "match", "accept", name, reference, "--dry-run").stdout
    assert rows(desk, "match", "list") == []
    told = run(desk, "match", "accept", name, reference, "--reason", "as on the invoice").stdout
    assert told.endswith(f"{line['entry_id']}: accepted\n")
    assert f"{reference}, " in told.splitlines()[1]
    (standing,) = rows(desk, "match", "list")
    assert (standing["decided_by"], standing["reason"]) == ("anna", "as on the invoice")
    assert rows(desk, "match", "list", "--moved") == []
    assert "undone" in run(desk, "match", "undo", name).stdout
    assert rows(desk, "match", "list") == []


@pytest.mark.acceptance
def test_a_group_of_equal_payments_is_accepted_by_one_command(desk: Workspace) -> None:
    group = [row for row in rows(desk, "match", "open") if "fit as many requests" in row["reason"]]
    suggested = {row["entry_id"]: row["suggestion"] for row in group}
    assert len(suggested) == len(set(suggested.values())) == 3
    told = run(desk, "match", "open").stdout.splitlines()[-1]
    words, _, typed = told.partition(": treasury ")
    assert words.startswith("3 payments fit as many requests equally: assigned by date")
    command = typed.split()
    assert group[0]["entry_id"].startswith(command[-1])
    tried = run(desk, *command, "--dry-run").stdout
    assert "assigned by date, nothing tells them apart:" in tried
    assert rows(desk, "match", "list") == []
    told = run(desk, *command, "--reason", "as agreed").stdout
    for line, reference in suggested.items():
        assert f"for {reference}. Reason: as agreed.\n" in told
        assert f"{line}: accepted\n" in told
    decided = rows(desk, "match", "list")
    assert {row["entry_id"]: row["reference"] for row in decided} == suggested
    settled = {
        row["entry_id"]: row["outcome"] for row in rows(desk, "reconcile", "--month", "2026-10")
    }
    assert {settled[line] for line in suggested} == {"matched"}
    with pytest.raises(ActionRefused, match="is already decided"):
        run(desk, *command)


@pytest.mark.acceptance
def test_a_line_without_equal_payments_is_not_a_group(desk: Workspace) -> None:
    alone = rows(desk, "match", "open")[0]["entry_id"]
    with pytest.raises(InputError, match="is in no group of equal payments"):
        run(desk, "match", "group", alone)


def test_a_group_is_accepted_as_displayed_or_not_at_all(desk: Workspace) -> None:
    group = [row for row in rows(desk, "match", "open") if "fit as many requests" in row["reason"]]
    planned = desk.matches.accept_group(group[0]["entry_id"], dry_run=True)
    assert [decision.entry_id for decision in planned] == [row["entry_id"] for row in group]
    desk.matches.ignore(group[2]["entry_id"], reason="the bank erred")
    with pytest.raises(ActionRefused, match="is already decided"):
        desk.matches.accept_many([(d.entry_id, d.expectations) for d in planned])
    with pytest.raises(InputError, match="is in no group of equal payments"):
        desk.matches.accept_group(group[0]["entry_id"])
    assert [row["verb"] for row in rows(desk, "match", "list")] == ["ignore"]


@pytest.mark.acceptance
def test_only_the_named_decision_is_undone(desk: Workspace) -> None:
    line = next(row for row in rows(desk, "match", "open") if row["outcome"] == "suggested")
    name = line["entry_id"]
    run(desk, "match", "reject", name, line["suggestion"])
    run(desk, "match", "assign", name, "bert")
    first, last = (str(row["seq"]) for row in rows(desk, "match", "list"))
    with pytest.raises(ActionRefused, match="a newer decision on it exists"):
        run(desk, "match", "undo", name, "--seq", first)
    assert len(rows(desk, "match", "list")) == 2
    assert run(desk, "match", "undo", name, "--seq", last).stdout == f"{name}: undone\n"
    assert [str(row["seq"]) for row in rows(desk, "match", "list")] == [first]


@pytest.mark.acceptance
def test_lines_are_closed_assigned_and_rejected(desk: Workspace) -> None:
    lines = rows(desk, "match", "open")
    loose = [row["entry_id"] for row in lines if row["outcome"] == "unreferenced"][:2]
    assert run(desk, "match", "ignore", *loose).exit_code == 2
    assert run(desk, "match", "ignore", *loose, "--reason", "by phone").stdout.count("ignored") == 2
    other = next(row for row in lines if row["outcome"] == "suggested")
    run(desk, "match", "assign", other["entry_id"], "bert")
    mine = rows(desk, "match", "open", "--assigned-to", "bert")
    assert [row["entry_id"] for row in mine] == [other["entry_id"]]
    run(desk, "match", "reject", other["entry_id"], other["suggestion"])
    assert [row["verb"] for row in rows(desk, "match", "list")] == [
        "ignore", "ignore", "assign", "reject",
    ]  # fmt: skip


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("command", "mark", "said", "state"),
    [
        ("mark-sent", "marked_sent", "marked sent", ""),
        ("will-not-fund", "will_not_fund", "will not be funded", "WILL NOT FUND"),
    ],
)
def test_a_request_is_remarked_on(
    desk: Workspace, command: str, mark: str, said: str, state: str
) -> None:
    one = next(row for row in rows(desk, "awaiting-funds") if row["state"] == "PAY")
    remark = ("request", command, one["reference"])
    assert run(desk, *remark).exit_code == 2
    because = (*remark, "--reason", "as bert said")
    planned = run(desk, *because, "--dry-run").stdout
    name = one["reference"]
    assert planned.endswith(f"{name}: {said} (not written)\n")
    change = f"  {name}, EUR 15,000.00: PAY to {state} (" if state else ""
    assert change in planned
    assert ("changes, in the open items of 2026-10:" in planned) is bool(state)
    assert rows(desk, "request", "list") == []
    assert run(desk, *because).stdout.endswith(f"{name}: {said}\n")
    (standing,) = rows(desk, "request", "list")
    assert (standing["mark"], standing["reason"]) == (mark, "as bert said")
    undone = run(desk, "request", "undo", name).stdout
    assert undone.endswith(f"{name}: undone\n")
    assert (f"EUR 15,000.00: {state} to PAY (" in undone) is bool(state)
    assert rows(desk, "request", "list") == []


@pytest.mark.acceptance
def test_only_the_named_remark_is_undone(desk: Workspace) -> None:
    one = next(row for row in rows(desk, "awaiting-funds") if row["state"] == "PAY")
    run(desk, "request", "mark-sent", one["reference"], "--reason", "by phone banking")
    seq = rows(desk, "request", "list")[0]["seq"]
    with pytest.raises(ActionRefused, match="is now another one: marked sent by"):
        run(desk, "request", "undo", one["reference"], "--seq", str(seq + 1))
    assert len(rows(desk, "request", "list")) == 1
    run(desk, "request", "undo", one["reference"], "--seq", str(seq))
    assert rows(desk, "request", "list") == []


@pytest.mark.acceptance
def test_rules_are_previewed_saved_and_listed(desk: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    path.write_text("window_days = 10\ncut_lengths = [40]\n")
    told = run(desk, "rules", "preview", str(path)).stdout
    assert "cut_lengths no longer has 16, 18" in told
    assert "Other business" in told
    assert "EUR" in told
    assert rows(desk, "rules", "preview", str(path))
    assert "are in force" in run(desk, "rules", "save", str(path), "--reason", "enough").stdout
    (row,) = rows(desk, "rules", "history")
    assert (row["saved_by"], row["reason"]) == ("anna", "enough")
    (desk.folder / RULES_FILE).write_text("window_days = 11\n")
    assert "changed by hand" in run(desk, "rules", "history").stdout


@pytest.mark.acceptance
def test_a_month_is_closed_verified_and_reopened(desk: Workspace) -> None:
    close_month(desk, "2026-10")
    assert (
        "gives the same result as at its close" in run(desk, "periods", "verify", "2026-10").stdout
    )
    assert [row["state"] for row in rows(desk, "periods", "list")] == ["closed"]
    assert rows(desk, "periods", "late") == []
    (kind, *_) = rows(desk, "periods", "roll-forward", "--month", "2026-10")
    assert kind["currency"] == "EUR"
    assert rows(desk, "periods", "roll-forward", "--month", "2026-10", "--per-request")
    run(desk, "periods", "reopen", "2026-10", "--reason", "a late invoice")
    assert [row["state"] for row in rows(desk, "periods", "list")] == ["reopened"]
    with pytest.raises(InputError, match="not closed"):
        run(desk, "periods", "verify", "2026-10")


@pytest.mark.acceptance
def test_two_instants_are_compared(desk: Workspace) -> None:
    found = rows(
        desk, "compare", "--month", "2026-10",
        "--as-of", "2026-11-02T08:00:00Z", "--as-of", "2026-11-02T09:00:00Z",
    )  # fmt: skip
    assert {row["cause"] for row in found} == {"new statement"}
    assert (
        "Lines that moved"
        in run(desk, "compare", "--month", "2026-10", "--as-of", "2026-11-02T08:00:00Z").stdout
    )
    told = CliRunner().invoke(
        treasury, ["-w", str(desk.folder), "compare", "--month", "2027-01", "--as-of", "2026-11-02"]
    )
    assert isinstance(told.exception, InputError)
    refused = run(desk, "compare", *(("--as-of", "2026-11-02T08:00Z") * 3))
    assert refused.exit_code == 2


@pytest.mark.acceptance
def test_a_sheet_is_written_previewed_applied_and_reapplied(
    desk: Workspace, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.xlsx"
    kind = ["--kind", "no_reference"]
    written = run(desk, "exceptions", "2026-10", *kind, "--sheet", str(sheet))
    items = rows(desk, "exceptions", "2026-10", *kind)
    assert f"{len(items)} open items of October 2026" in written.stdout
    book = openpyxl.load_workbook(sheet)
    page = book["Open items"]
    at = {cell.value: cell.column for cell in page[1]}
    page.cell(2, at["Decision"]).value = ACTS["ignore"]
    page.cell(2, at["Reason"]).value = "the bank erred"
    page.cell(3, at["Decision"]).value = ACTS["ignore"]
    book.save(sheet)

    shown = run(desk, "decide", str(sheet), "--dry-run")
    assert shown.exit_code == 1  # a row is refused
    assert "ignoring a line needs a reason" in shown.stdout
    assert "would be journaled: 1 decision (not written)" in shown.stdout
    assert rows(desk, "match", "list") == []
    taken = run(desk, "decide", str(sheet))
    assert "in the journal: 1 decision\n" in taken.stdout
    (decision,) = rows(desk, "match", "list")
    assert (decision["reason"], decision["decided_by"]) == ("the bank erred", "anna")
    again = json.loads(run(desk, "decide", str(sheet), "--format", "json").stdout)
    assert [row["outcome"] for row in again] == ["stands already", "refused"]
    assert len(rows(desk, "match", "list")) == 1


@pytest.mark.acceptance
def test_the_banks_response_is_shown_with_the_file_and_the_request(
    desk: Workspace, tmp_path: Path
) -> None:
    request = next(row for row in rows(desk, "awaiting-funds") if row["state"] == "PAY")
    body = {
        "requests": [request["request_id"]],
        "references": [request["reference"]],
        "message_id": "PAY-ABC",
    }
    desk.journal.append(
        "payment_file.made", "payments-1.xml", body, actor=Actor("bert", "environment")
    )
    answer, other = tmp_path / "answer.xml", tmp_path / "other.xml"
    told = payment(request["reference"].lower(), "RJCT", "AC04", "X9")
    answer.write_text(report(told, file_status="PART", batch_status="ACTC"))
    other.write_text(report(payment("PAY-9", "WHAT"), original="PAY-XYZ", message_id="B2"))

    def shown(*files: Path) -> list[tuple[str, ...]]:
        names = ("file", "request_id", "level", "outcome", "status", "reasons")
        answers = rows(desk, "request", "answers", *map(str, files))
        return [tuple(row[name] or "" for name in names) for row in answers]

    file, status = "payments-1.xml", "RJCT: rejected"
    of_ours = [
        (file, "", "file", "in part", "PART: accepted in part", ""),
        (file, request["request_id"], "payment", "rejected", status, "AC04 account closed, X9"),
        (file, "", "batch", "pending", "ACTC: received, its form is right", ""),
    ]
    assert shown(answer) == of_ours
    # The command did not store the answer.
    assert shown() == []
    table = run(desk, "request", "answers", str(answer), str(other)).stdout
    assert "AC04 account closed" in table
    run(desk, "statements", "add", str(other), str(answer))
    assert sorted(shown()) == sorted([("", "", "payment", "not known", "WHAT", ""), *of_ours])
    answer.write_text("<CstmrPmtStsRpt>")
    with pytest.raises(InputError):
        run(desk, "request", "answers", str(answer))


@pytest.mark.acceptance
def test_a_payees_name_is_shown_next_to_the_banks_and_accepted(
    desk: Workspace, tmp_path: Path
) -> None:
    waiting = rows(desk, "awaiting-funds")
    request = next(row for row in waiting if row["state"] == "PAY")
    body = {
        "requests": [request["request_id"]],
        "references": [request["reference"]],
        "message_id": "PAY-ABC",
        "execution": "2026-11-02",
        "payees": [("Ramp Operator BV", "NL05TEST0417164300")],
    }
    maker = Actor("bert", "environment")
    desk.journal.append("payment_file.made", "payments-1.xml", body, actor=maker)
    answer = tmp_path / "answer.xml"
    told = payment(request["reference"], "RVMC", text="R. Operator")
    answer.write_text(report(told, at="2026-11-02T12:00:00Z"))
    run(desk, "statements", "add", str(answer))
    accept = ["request", "accept-payee", request["reference"], "--reason", "called them"]
    shown = run(desk, *accept, "--dry-run").stdout
    assert "ordered:  Ramp Operator BV, NL05TEST0417164300" in shown
    assert "the bank: R. Operator" in shown
    assert "bears the loss if it went to the wrong payee" in shown
    assert desk.journal.head().seq == 1
    assert "the payee's name is accepted\n" in run(desk, *accept).stdout
    (entry,) = desk.journal.entries("payment_file.payee_accepted")
    assert (entry.actor.name, entry.body["known_as"]) == ("anna", "R. Operator")

    line = next(row for row in rows(desk, "match", "open") if row["direction"] == "out")
    with pytest.raises(ActionRefused, match="that are not rejected wait for"):
        run(desk, "match", "file", line["entry_id"], "payments-1.xml", "--reason", "its batch")
