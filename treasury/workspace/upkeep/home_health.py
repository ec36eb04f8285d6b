"""The doctor's look at the lake's home, and at decisions that know more than this desk pulled."""

from __future__ import annotations

from collections.abc import Iterator

from treasury.core.errors import JournalError, StorageError
from treasury.journal import Journal
from treasury.lake import Lake
from treasury.lake.home.home_status import home_status
from treasury.lake.home.home_upkeep import broken_objects, put_again
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.sharing import Sharing
from treasury.workspace.upkeep.health_finding import HealthFinding

_HOME = "lake's home"
_PULL = "run `treasury lake pull`"


def brought_from_home(sharing: Sharing) -> Iterator[HealthFinding]:
    """Bring back from the lake's home what is not here as it was written."""
    try:
        pulled = sharing.pull(is_checked=True)
    except StorageError as error:
        yield HealthFinding(_HOME, "missing", error.what, error.do or "")
        return
    if pulled.files:
        sentence = f"{pulled.files:,} files came from the lake's home"
        yield HealthFinding("stored files", "repaired", sentence)


def home_findings(sharing: Sharing, *, mend: bool) -> Iterator[HealthFinding]:
    """Whether the home answers, has what its newest head names, and what this desk lacks of it.

    With `mend` each of its objects is read and compared, and put again where this desk has the file
    whole; else only that it is there, in its size.
    """
    home = sharing.home
    try:
        status = home_status(home)
        if status.problem:
            do = f"{status.remedy}; what is here is read all the same"
            yield HealthFinding(_HOME, "missing", status.problem, do)
        elif status.count:
            home.newest(home.note())  # raises for a head that this desk refuses
            yield HealthFinding(_HOME, "missing", status.sentence, _PULL)
        elif not status.number:
            do = "run `treasury lake push` on the desk that has the lake"
            yield HealthFinding(_HOME, "missing", status.sentence, do)
        if status.staged:
            yield HealthFinding(
                _HOME,
                "missing",
                f"staged here and shown to nobody: {'; '.join(status.staged)}",
                "run `treasury lake push`",
            )
        if status.problem or status.count or not status.number:
            return
        yield from _unaccepted_head(home)
        broken = broken_objects(home, home.note().files, whole=mend)
        mended = put_again(home, broken) if mend and broken else frozenset()
        for path, problem in broken.items():
            if path in mended:
                yield HealthFinding(_HOME, "repaired", f"{problem}; it was put there again")
            else:
                do = "run `treasury doctor --repair` on a desk that has the file whole"
                yield HealthFinding(_HOME, "damaged", problem, do)
        if not broken:
            writers = ", ".join(dict.fromkeys(desk.by for desk in home.desks()))
            yield HealthFinding(_HOME, "ok", f"{status.sentence}; written to by {writers}")
    except StorageError as error:
        yield HealthFinding(_HOME, "missing", error.what, error.do or "")


def _unaccepted_head(home: LakeHome) -> Iterator[HealthFinding]:
    """Name the newest head of this desk if the policy does not accept its signature."""
    note = home.note()
    if not home.is_accepted(note):
        yield HealthFinding(
            _HOME,
            "missing",
            f"head {note.number}, the newest here, has no signature that the policy accepts",
            "if it is a desk's of yours, run `treasury lake push` there; else clone the lake"
            " from a home that you trust",
        )


def unpulled_decisions(lake: Lake, journal: Journal) -> str:
    """What the journal knows of commits that this desk has not pulled, in words; empty where none.

    People decide on what their own desk shows; the decision names the commit that it was made on.
    """
    if lake.sharing is None:
        return ""
    last = lake.last_commit()
    number = 0 if last is None else last.number
    try:
        later = [commit for e in journal.entries() if (commit := _commit_of(e.body)) > number]
    except JournalError:
        return ""  # which is said wherever the journal is read
    if not later:
        return ""
    decisions = "a decision" if len(later) == 1 else f"{len(later):,} decisions"
    return (
        f"the journal knows {decisions} made on commits up to {max(later)}, and this desk has"
        f" pulled up to {number}"
    )


def _commit_of(body: object) -> int:
    """The commit that a decision or a close says it was made on; 0 where it says none."""
    if not isinstance(body, dict):
        return 0
    seen = body.get("seen")
    commit = body.get("commit", seen.get("commit") if isinstance(seen, dict) else None)
    return commit if isinstance(commit, int) else 0
