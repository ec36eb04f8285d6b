"""Which tests take long: `make acceptance` runs them before a release, `make test` does not.

`longer.txt` names them, a line each: a file, a test, or a test with `[]` behind it, of which the
first case alone is run by `make test`. `make longer` measures all of them and writes it anew. What
guards money at its core is never in it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Final

import pytest
from lxml import etree

__all__ = ["long_ones"]

LISTED: Final = Path(__file__).with_name("longer.txt")
FIRST, OTHER = 2.0, 1.0
"""Seconds that a test or its first case may take itself, and the median of several cases."""
ALWAYS: Final = (
    "tests/actions/test_actions_hashes.py",
    "tests/api/test_api_canary.py",
    "tests/items/test_items_replay.py",
    "tests/panels/test_panels_browser.py",
    "tests/reconcile/test_case_",
    "tests/reconcile/test_match_attacked",
    "tests/reconcile/test_match_second_codes.py",
)
"""The beginnings of what is run however long it takes."""
ONCE: Final = (
    "tests/api/test_api_torture.py::test_lists",
    "tests/cli/test_cli_decide.py::test_a_sheet_is_written",
    "tests/cli/test_cli_notices.py::test_notices_are_sent",
    "tests/cli/test_cli_terminal.py::test_what_is_no_file",
    "tests/coins/test_coin_books.py",
    "tests/coins/test_coin_desk.py::test_a_pool_that_has_other_coins",
    "tests/coins/test_coin_pack.py::test_the_section_has_a_table",
    "tests/exposure/test_exposure_month.py::test_the_month_ends_with_exactly_this",
    "tests/exposure/test_exposure_month.py::test_what_is_not_told_one_by_one",
    "tests/extract/test_extract_meanwhile.py::test_rows_of_the_services",
    "tests/extract/test_extract_scope.py::test_a_request_that_is_gone",
    "tests/extract/test_extract_unoffered.py::test_a_comparison_that_left",
    "tests/extract/test_extract_unseen.py::test_a_list_that_is_refused",
    "tests/items/test_decision_sheet.py::test_a_preview_",
    "tests/items/test_decision_sheet.py::test_a_row_whose_facts_moved",
    "tests/items/test_decision_sheet.py::test_an_item_that_is_decided_in_two_rows",
    "tests/items/test_decision_sheet.py::test_what_",
    "tests/items/test_decision_sheet.py::test_whoever_proposed",
    "tests/items/test_decision_sheet_killed.py",
    "tests/items/test_file_not_uploaded.py",
    "tests/items/test_items_october.py::test_the_checklist",
    "tests/items/test_items_remarked.py::test_nothing_is_remarked",
    "tests/items/test_items_silence.py::test_a_journal_that_lost_its_end",
    "tests/items/test_items_unseen.py::test_each_is_an_item",
    "tests/journal/test_journal_notices.py",
    "tests/lake/test_home_attacks.py::test_a_desk_that_was_overtaken",
    "tests/lake/test_home_clouds.py",
    "tests/lake/test_home_desk.py::test_a_clone_answers",
    "tests/lake/test_home_races.py::test_two_desks_write",
    "tests/notices/test_due_items.py::test_no_number_of_an_account",
    "tests/notices/test_inbox.py::test_killed_at_any_moment",
    "tests/notices/test_notices_killed.py",
    "tests/notices/test_notices_sending.py",
    "tests/panels/test_panels_exceptions.py::test_a_sheet_that_moved",
    "tests/panels/test_panels_funding.py::test_check_bank",
    "tests/panels/test_panels_funding_files.py::test_what_the_bank_",
    "tests/panels/test_panels_funding_settings.py::test_without_an_address",
    "tests/panels/test_panels_refusals.py::test_a_beneficiary",
    "tests/reconcile/test_bank_answers.py::test_a_bank_that_reports",
    "tests/reconcile/test_bank_answers.py::test_a_close_match_is",
    "tests/reconcile/test_bank_answers.py::test_a_file_is_taken_back",
    "tests/reconcile/test_bank_answers.py::test_a_final_rejection",
    "tests/reconcile/test_bank_answers.py::test_a_payee_that_the_bank",
    "tests/reconcile/test_bank_answers.py::test_a_payment_goes",
    "tests/reconcile/test_bank_answers.py::test_a_rejection_",
    "tests/reconcile/test_bank_answers.py::test_only_a_close",
    "tests/reconcile/test_bank_answers.py::test_the_answer_to_another",
    "tests/reconcile/test_bank_answers.py::test_the_statements_reach",
    "tests/reconcile/test_bank_answers.py::test_what_the_bank_has",
    "tests/reconcile/test_conversion_costs.py::test_a_provider_that_takes_35",
    "tests/reconcile/test_decide_batches.py::test_a_request_that_another",
    "tests/reconcile/test_decide_batches.py::test_nothing_of_a_file",
    "tests/reconcile/test_decide_batches.py::test_one_debit_pays",
    "tests/reconcile/test_decide_batches.py::test_what_the_bank_rejected",
    "tests/reconcile/test_decide_divided.py::test_it_is_refused",
    "tests/reconcile/test_decide_edited.py::test_doctor_finds_it",
    "tests/reconcile/test_exposure_live.py::test_a_provider_that_holds",
    "tests/reconcile/test_file_debits.py",
    "tests/reconcile/test_kept_run.py::test_a_run_does_not_go_on",
    "tests/reconcile/test_match_proof.py::test_a_line_has_the_outcome",
    "tests/reconcile/test_match_proof.py::test_enough_is_matched",
    "tests/reconcile/test_month_cutoff.py::test_what_is_of_the_next_month",
    "tests/reconcile/test_month_memo.py::test_an_end_before_a_later_line",
    "tests/reconcile/test_period_close.py::test_a_close_that_does_not_come_out",
    "tests/reconcile/test_rowless.py::test_a_step_that_is_said",
    "tests/reconcile/test_settled_closes.py::test_an_open_month",
    "tests/reconcile/test_settled_months.py::test_a_line_that_may_concern",
    "tests/reconcile/test_settled_months.py::test_a_reopened_month_is_matched",
    "tests/reconcile/test_settled_months.py::test_after_a_late_decision",
    "tests/reconcile/test_settled_months.py::test_after_other_rules",
    "tests/reconcile/test_view_conversions.py::test_case_38",
    "tests/report/test_report_hostile_pack.py::test_names_that_lead_out",
    "tests/report/test_report_verify.py::test_a_file_that_is_missing",
    "tests/statements/test_statements_other_format.py",
    "tests/statements/test_statements_versions.py::test_a_person_settles",
    "tests/statements/test_statements_versions.py::test_of_versions_of_equal_rank",
    "tests/wallets/test_gas_month.py::test_an_export_without_gas",
)
"""The beginnings of what is run in its first case at least, however long that takes."""
NEVER: Final = (
    *(f"tests/panels/test_panels_{name}_browser.py" for name in
      ("choice", "decisions", "desk", "funding", "showing")),
    "tests/sandbox/test_sandbox_openapi_fuzz.py",
)  # fmt: skip
"""The beginnings of what is left however short it is: what it begins with takes long."""


def long_ones(nodes: Iterable[str]) -> set[str]:
    """Those of the tests, by node ids in their order, that are left to `make acceptance`.

    Raises pytest.UsageError for a name of the list, or a beginning here, that no test has any more.
    """
    names = frozenset(LISTED.read_text("utf-8").splitlines())
    begun: set[str] = set()
    found, met = set(), set()
    for node in nodes:
        test = node.partition("[")[0]
        is_first = test not in begun
        begun.add(test)
        above = {test, test.partition("::")[0]} | (set() if is_first else {f"{test}[]"})
        if above & names:
            found.add(node)
            met |= above & names
    if names > met:
        raise pytest.UsageError(f"tests/longer.txt: there is no {', '.join(sorted(names - met))}")
    gone = [name for name in (*ALWAYS, *ONCE, *NEVER) if not any(t.startswith(name) for t in begun)]
    if gone:
        raise pytest.UsageError(f"tests/longer.py: no test begins with {', '.join(gone)}")
    return found


def listed(seconds: Iterable[tuple[str, float]]) -> list[str]:
    """What the list names, of tests with the seconds they took, in the order of collection."""
    cases = defaultdict[str, list[float]](list)
    for node, took in seconds:
        cases[node.partition("[")[0]].append(took)
    files = defaultdict[str, list[str]](list)
    for test, took in cases.items():
        files[test.partition("::")[0]].append(_name(test, took))
    names: list[str] = []
    for file, tests in files.items():
        names += [file] if all("::" in name and "[" not in name for name in tests) else tests
    return sorted(filter(None, names))


def _name(test: str, took: list[float]) -> str:
    """How the list names a test; empty for one that it does not."""
    if test.startswith(ALWAYS):
        return ""
    if test.startswith(NEVER) or (took[0] >= FIRST and not test.startswith(ONCE)):
        return test
    return f"{test}[]" if len(took) > 1 and median(took) >= OTHER else ""


def _measured(report: Path) -> Iterator[tuple[str, float]]:
    """Each test of a report in JUnit's form, by node id, with its seconds."""
    for case in etree.parse(report).iter("testcase"):
        file = case.get("classname").replace(".", "/")
        yield f"{file}.py::{case.get('name')}", float(case.get("time"))


if __name__ == "__main__":
    LISTED.write_text("\n".join(listed(_measured(Path(sys.argv[1])))) + "\n", "utf-8")
