"""The doctor's findings about the shared lake (home), and about decisions on unpulled commits."""

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
    """Download files that are missing or damaged locally from the lake's home."""
    try:
        pulled = sharing.pull(is_checked=True)
    except StorageError as error:
        yield HealthFinding(_HOME, "missing", error.what, error.do or "")
        return
    if pulled.files:
        sentence = f"{pulled.files:,} files came from the lake's home"
        yield HealthFinding("stored files", "repaired", sentence)


def home_findings(sharing: Sharing, *, mend: bool) -> Iterator[HealthFinding]:
    """Check that the home answers and is complete, and that its commits have been pulled here.

    With `mend`, the hash of each object is checked, and a damaged object is uploaded again if this
    workspace has an intact copy. Otherwise only existence and size are checked.
    """
    home = sharing.home
    try:
        status = home_status(home)
        if status.problem:
            do = f"{status.remedy}; local data stays readable"
            yield HealthFinding(_HOME, "missing", status.problem, do)
        elif status.count:
            home.newest(
                home.note()
            )  # This raises an error if the signature of the newest shared commit is not accepted.
            yield HealthFinding(_HOME, "missing", status.sentence, _PULL)
        elif not status.number:
            do = "run `treasury lake push` on the desk that has the lake"
            yield HealthFinding(_HOME, "missing", status.sentence, do)
        if status.staged:
            yield HealthFinding(
                _HOME,
                "missing",
                f"staged here and not shared: {'; '.join(status.staged)}",
                "run `treasury lake push`",
            )
        if status.problem or status.count or not status.number:
            return
        yield from _unaccepted_head(home)
        broken = broken_objects(home, home.note().files, whole=mend)
        mended = put_again(home, broken) if mend and broken else frozenset()
        for path, problem in broken.items():
            if path in mended:
                yield HealthFinding(_HOME, "repaired", f"{problem}; it was uploaded again")
            else:
                do = "run `treasury doctor --repair` on a desk that has the whole file"
                yield HealthFinding(_HOME, "damaged", problem, do)
        if not broken:
            writers = ", ".join(dict.fromkeys(desk.by for desk in home.desks()))
            yield HealthFinding(_HOME, "ok", f"{status.sentence}; written to by {writers}")
    except StorageError as error:
        yield HealthFinding(_HOME, "missing", error.what, error.do or "")


def _unaccepted_head(home: LakeHome) -> Iterator[HealthFinding]:
    """Yield a finding if the policy does not accept the signature of the current head here."""
    note = home.note()
    if not home.is_accepted(note):
        yield HealthFinding(
            _HOME,
            "missing",
            f"head {note.number}, the newest here, has no signature that the policy accepts",
            "if one of your desks wrote it, run `treasury lake push` there; otherwise clone the"
            " lake from a home that you trust",
        )


def unpulled_decisions(lake: Lake, journal: Journal) -> str:
    """Return a sentence on decisions about commits that are not pulled here; empty if none.

    A decision names the commit that it was based on, which may be a colleague's.
    """
    if lake.sharing is None:
        return ""
    last = lake.last_commit()
    number = 0 if last is None else last.number
    try:
        later = [commit for e in journal.entries() if (commit := _commit_of(e.body)) > number]
    except JournalError:
        # Everything that reads the journal reports this error.
        return ""
    if not later:
        return ""
    decisions = "a decision" if len(later) == 1 else f"{len(later):,} decisions"
    return (
        f"the journal has {decisions} on commits up to {max(later)}, but this desk has pulled"
        f" up to {number}"
    )


def _commit_of(body: object) -> int:
    """Return the commit that a decision or close is based on; 0 if it names none."""
    if not isinstance(body, dict):
        return 0
    seen = body.get("seen")
    commit = body.get("commit", seen.get("commit") if isinstance(seen, dict) else None)
    return commit if isinstance(commit, int) else 0
