"""Classes `restores` and `copies`: a restored older copy, and several copies of a workspace.

An older copy does not know later sendings, and a second copy does not know the sendings of the
first. While days pass at the company, the service forgets its idempotency keys, and this company
and others create records very similar to the action's.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from benchmarks.torture.company import Company, clients_at, path_of
from benchmarks.torture.desk import Desk, ready_action
from benchmarks.torture.runs import BLOCK, Result, Run, Step, Subject, judge_copies, kind_at
from treasury.actions import KINDS, Action
from treasury.api import Client

JOURNAL: Final = "journal.sqlite"
END: Final = "journal.end"
RESTORES: Final = {
    "the folder anew": None,
    "its files in place": None,
    "the journal anew": (JOURNAL,),
    "the journal in place": (JOURNAL,),
    "the journal and its end in place": (JOURNAL, END),
    "the journal, and no end": (JOURNAL,),
}
"""The ways to restore a copy, with the restored files; None means all files."""
HOURS: Final = timedelta(hours=2)
"""Time until a person settles an action that was cut off; the service still knows the keys."""
DAYS: Final = (0.0, 0.1, 1.0, 2.0, 3.5, 5.0, 10.0, 40.0)


class RestorePlan(NamedTuple):
    """The files restored after some days, the records created meanwhile, and the next steps.

    With `cut_off` the action was sent before the copy was made, but never arrived; later a person
    settles it as not carried out and repeats it. The copy cannot detect this for kinds that the
    service does not list.
    """

    what: str
    days: float
    same_kind: int
    other_kinds: tuple[str, ...]
    adopts: bool
    cut_off: bool


class CopyPlan(NamedTuple):
    """Whether the copies execute at the same time or some days apart, and the next steps."""

    at_once: bool
    days: float
    copy_first: bool
    adopts: bool


class Premises(NamedTuple):
    """The state that a block of runs shares: the company, and clients that reach it."""

    company: Company
    clients: Mapping[str, Client]

    def open(self, folder: Path) -> Desk:
        """Open a desk in a workspace at the company's current time."""
        return Desk(folder, self.company, self.company.base_url, self.clients)


@contextmanager
def enter(company: Company) -> Iterator[Premises]:
    """Open clients that reach the company."""
    with clients_at(company, company.base_url) as clients:
        yield Premises(company, clients)


def draw_restore(random: Random, seed: int, number: int) -> tuple[str, RestorePlan]:
    """Return the kind of run `number`, and a random plan for it."""
    kind = kind_at(seed, number)
    others = tuple(random.choice([*KINDS]) for _ in range(random.choice((0, 0, 1, 2))))
    is_told = KINDS[kind].safety != "keyed" or KINDS[kind].twins is not None
    return kind, RestorePlan(
        random.choice([*RESTORES]),
        random.choice(DAYS),
        same_kind=random.choice((0, 1, 1, 2)),
        other_kinds=others,
        adopts=random.random() < 0.3,
        cut_off=random.random() < 0.25 and is_told,
    )


def draw_copy(random: Random, seed: int, number: int) -> tuple[str, CopyPlan]:
    """Return the kind of run `number`, and a random plan for it."""
    at_once = random.random() < 0.5
    return kind_at(seed, number), CopyPlan(
        at_once,
        0.0 if at_once else random.choice(DAYS),
        copy_first=random.random() < 0.4,
        adopts=random.random() < 0.3,
    )


def _copied(premises: Premises, kind: str, *, cut_off: bool = False) -> tuple[Path, Path, Action]:
    """Return a workspace, a copy, and an action in both: ready, or with `cut_off` not arrived."""
    company = premises.company
    folder, copy = company.new_folder(), company.new_folder()
    desk = premises.open(folder)
    action = ready_action(desk, company, kind)
    if cut_off:
        faults, method = company.sandbox.faults, KINDS[kind].method
        faults.add(path_of(action), method=method, drop="before", times=9)
        desk.execute(action.id)
        faults.clear()
    desk.close()
    shutil.copytree(folder, copy)
    return folder, copy, action


def play_restore(premises: Premises, run: Run) -> Result:
    """Copy, execute, continue for days, restore the copy, and execute again."""
    company, plan = premises.company, run.plan
    folder, copy, action = _copied(premises, run.kind, cut_off=plan.cut_off)
    before = company.effects(action)
    if plan.cut_off:
        company.wait(HOURS)

    desk = premises.open(folder)
    anew = desk.anew(action.id) if plan.cut_off else action
    ended = "not proposed again" if anew is None else desk.execute(anew.id)
    sent = action if anew is None else anew
    steps = [Step(desk.state(sent.id), company.effects(action) - before)]
    _go_on(desk, company, run)
    desk.close()

    _put_back(copy, folder, plan.what)
    desk = premises.open(folder)
    _insist(desk, action, adopts=plan.adopts)
    steps.append(Step(desk.state(action.id), company.effects(action) - before))
    desk.close()
    return judge_copies(run, ended, steps)


def _go_on(desk: Desk, company: Company, run: Run) -> None:
    """Let days pass, with actions of the same kind and others, by this company and others."""
    plan = run.plan
    kinds = [*[run.kind] * plan.same_kind, *plan.other_kinds]
    part = timedelta(days=plan.days) / (len(kinds) + 1)
    for kind in kinds:
        company.wait(part)
        with company.beside():
            other = ready_action(desk, company, kind)
            desk.execute(other.id)
    company.wait(part)


def _put_back(copy: Path, folder: Path, what: str) -> None:
    """Restore files of a copy, as new files or by overwriting."""
    if what == "the folder anew":
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        return
    names = RESTORES[what] or tuple(path.name for path in copy.iterdir() if path.is_file())
    for name in names:
        if what.endswith("anew"):
            (folder / name).unlink()
        shutil.copyfile(copy / name, folder / name)
    if what.endswith("no end"):
        (folder / END).unlink()


def _insist(desk: Desk, action: Action, *, adopts: bool) -> None:
    """Execute and recover like a person who takes the copy for the original workspace."""
    desk.execute(action.id)
    desk.recover(action.id)
    if adopts and desk.adopt():
        desk.execute(action.id)
        desk.recover(action.id)


def play_copy(premises: Premises, run: Run) -> Result:
    """Copy a workspace with a ready action, and execute it in both."""
    company, plan = premises.company, run.plan
    folder, copy, action = _copied(premises, run.kind)
    before = company.effects(action)

    order = [copy, folder] if plan.copy_first else [folder, copy]
    desks = [premises.open(place) for place in order]
    ended: list[str] = []
    if plan.at_once:
        _at_once(desks, action, ended)
    else:
        ended.append(desks[0].execute(action.id))
        company.wait(timedelta(days=plan.days))
        ended.append(desks[1].execute(action.id))
    for desk in desks:
        _insist(desk, action, adopts=plan.adopts)
    effects = company.effects(action) - before
    steps = [Step(desk.state(action.id), effects) for desk in desks]
    for desk in desks:
        desk.close()
    return judge_copies(run, " and ".join(ended), steps)


def _at_once(desks: list[Desk], action: Action, ended: list[str]) -> None:
    """Execute an action at several desks at the same moment."""
    for desk in desks:
        # All desks are open and have read their journals before the executions start together.
        desk.state(action.id)
    barrier = threading.Barrier(len(desks))

    def race(desk: Desk) -> None:
        barrier.wait()
        ended.append(desk.execute(action.id))

    threads = [threading.Thread(target=race, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


RESTORED: Final = Subject("restores", BLOCK * 40, draw_restore, play_restore, enter)
COPIED: Final = Subject("copies", BLOCK * 20, draw_copy, play_copy, enter)
