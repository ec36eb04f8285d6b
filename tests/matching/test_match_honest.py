"""Few honest payments also fit another request, and none is matched to it.

Question 7 of matching is whether the amount belongs to another request.
"""

from __future__ import annotations

import pytest

from benchmarks.honest_payments import MOST_RIVALS_ASKED, draw, measure


@pytest.mark.first_case
@pytest.mark.parametrize("owners", [None, 1])
def test_few_honest_payments_need_a_decision_because_of_question_seven(owners: int | None) -> None:
    asked = measure(draw(1_500, 1, owners=owners))
    assert asked.wrong == 0
    assert 1000 * asked.of_question.get(7, 0) <= MOST_RIVALS_ASKED * asked.lines
    assert asked.ways["in full"][1] == asked.ways["a bundle"][1] == 0
