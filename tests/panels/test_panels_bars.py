"""A sync's progress as bars in a notebook, by the same protocol as in a terminal."""

from __future__ import annotations

import pytest

from treasury.panels.bars import NotebookProgress, in_notebook


def test_each_task_has_one_bar_that_fills_up(capsys: pytest.CaptureFixture[str]) -> None:
    progress = NotebookProgress()
    progress.start("ramp_requests", 3)
    progress.start("fees", 0)
    for _ in range(2):
        progress.advance("ramp_requests")
    first, second = progress.box.children
    assert (first.description, first.value, first.max) == ("ramp requests", 2, 3)
    progress.finish("ramp_requests")
    progress.finish("fees")
    assert [(bar.value, bar.bar_style) for bar in (first, second)] == [
        (3, "success"),
        (1, "success"),
    ]
    assert capsys.readouterr().out.count("VBox") == 1


def test_a_plain_process_is_no_notebook() -> None:
    assert not in_notebook()
