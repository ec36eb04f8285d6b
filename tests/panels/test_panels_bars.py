"""A sync's progress as bars in a notebook, by the same protocol as in a terminal."""

from __future__ import annotations

import pytest

from treasury.panels.frames.progress_bars import NotebookProgress, in_notebook


def test_running_work_has_a_bar_and_finished_work_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = NotebookProgress()
    progress.start("ramp_requests", 3)
    progress.start("fees", 0)
    for _ in range(2):
        progress.advance("ramp_requests")
    first, second = progress.box.children
    assert (first.description, first.value, first.max) == ("ramp requests", 2, 3)
    progress.finish("ramp_requests")
    bar, said = progress.box.children
    assert (bar, said.value) == (second, "1 table read")
    progress.finish("fees")
    (said,) = progress.box.children
    assert said.value == "2 tables read"
    assert capsys.readouterr().out.count("VBox") == 1


def test_a_plain_process_is_not_a_notebook() -> None:
    assert not in_notebook()
