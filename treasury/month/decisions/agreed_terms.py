"""Terms that `policy.toml` proposes and two people put in force through the journal.

Editing the file alone changes nothing, and an answer for an earlier time uses the terms of that
time. The person who proposed terms cannot accept them, unless the policy allows one person to do
both; the journal entry then records this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.actions.policies.policy import POLICY_FILE, Policy
from treasury.core.errors import ActionRefused, InputError
from treasury.core.nearest_names import Facade
from treasury.core.tables.table import Table
from treasury.journal import Actor, Draft, Entry, Journal
from treasury.journal.chain import reads_entries
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.person_names import same_person

WAITING: Final = "waits for a second person"
_STANDINGS: Final = ("in force", WAITING)


class TermsKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of terms: its names in the journal and in `policy.toml`, and its command.

    `content` returns the terms of a policy as plain JSON; equal terms have equal content.
    """

    proposed: str
    accepted: str
    name: str
    table: str
    command: str
    content: Callable[[Policy], dict[str, Any]]


class AgreedTerms(msgspec.Struct, frozen=True):
    """Proposed terms and the person who accepted them (None if nobody has accepted them yet)."""

    content: dict[str, Any]
    seq: int
    proposed_by: str
    accepted_by: str | None = None
    alone: bool = False

    @property
    def people(self) -> dict[str, Any]:
        """The people who proposed and accepted the terms, as columns."""
        return {
            "proposed_by": self.proposed_by,
            "accepted_by": self.accepted_by,
            "alone": self.alone,
        }


@reads_entries
def agreed_terms(
    entries: Iterable[Entry], kind: TermsKind
) -> tuple[AgreedTerms | None, AgreedTerms | None]:
    """Return the terms in force and the terms waiting for a second person, each or None."""
    in_force: AgreedTerms | None = None
    proposal: AgreedTerms | None = None
    for entry in entries:
        if entry.kind == kind.proposed:
            proposal = AgreedTerms(entry.body[kind.name], entry.seq, entry.actor.name)
        elif entry.kind == kind.accepted and proposal is not None:
            alone = same_person(proposal.proposed_by, entry.actor.name)
            if entry.body.get("proposal") != proposal.seq or (
                alone and not entry.body.get("alone")
            ):
                continue
            in_force = msgspec.structs.replace(proposal, accepted_by=entry.actor.name, alone=alone)
            proposal = None
    return in_force, proposal


def waiting_terms(entries: Iterable[Entry], kinds: Iterable[TermsKind]) -> list[dict[str, Any]]:
    """Return a row per kind with terms that wait for a second person.

    The columns are `seq` of the proposal, `text`, `proposed_at`, and the `command` that accepts it.
    """
    by_seq = {entry.seq: entry for entry in entries}
    waiting = []
    for kind in kinds:
        _, proposal = agreed_terms(by_seq.values(), kind)
        if proposal is not None:
            entry = by_seq[proposal.seq]
            waiting.append(
                {
                    "seq": entry.seq,
                    "text": f"{kind.name} of {kind.table}: {entry.body['reason']}, by"
                    f" {proposal.proposed_by}",
                    "proposed_at": entry.at,
                    "command": f"{kind.command} --accept",
                }
            )
    return waiting


class TermsVerbs(Facade):
    """Decisions by which two people put one kind of terms of `policy.toml` in force.

    One person calls `propose`, another `accept`. Both, and `list`, return the terms in force and
    the proposed ones as a table with the columns `columns`.

    >>> t.limits.propose("limits for the new year")
    >>> t.limits.accept()
    """

    _offers = ("propose", "accept", "list")
    kind: ClassVar[TermsKind]
    terms: ClassVar[pa.Schema]
    """The columns of the terms in force."""
    columns: ClassVar[pa.Schema]
    """The columns of the list: `standing`, then those of `rows`."""
    without: ClassVar[str] = ""
    """The words on screen for a proposal that removes all terms."""

    def __init__(
        self,
        journal: Journal,
        policy: Callable[[], Policy],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._journal = journal
        self._policy = policy
        self._until = until
        self._zone = zone

    @staticmethod
    def rows(terms: AgreedTerms | None) -> Sequence[dict[str, Any]]:
        """Return a row per subject of the terms, such as a currency; empty if `terms` is None."""
        raise NotImplementedError

    @classmethod
    def in_force(cls, entries: Iterable[Entry]) -> pa.Table:
        """Return the terms that two people last agreed on; columns as in `terms`."""
        in_force, _ = agreed_terms(entries, cls.kind)
        return pa.Table.from_pylist(list(cls.rows(in_force)), schema=cls.terms)

    @classmethod
    def differ(cls, entries: Iterable[Entry], policy: Policy) -> bool:
        """Return whether `policy.toml` differs from the terms that two people last agreed on."""
        in_force, _ = agreed_terms(entries, cls.kind)
        return cls.kind.content(policy) != (in_force.content if in_force else {})

    def propose(self, reason: str, *, actor: Actor | None = None) -> Table:
        """Propose the terms in `policy.toml`; they apply once a second person accepts them.

        No entry is added if the waiting proposal has the same terms or, without one, if the same
        terms are in force. Raise InputError without a reason. `actor` is by default the person at
        the login.

        >>> t.limits.propose("limits for the new year")
        """
        kind = self.kind
        if not reason.strip():
            raise InputError(f"a change to the {kind.name} needs a reason", do="give the reason")
        who = actor or self._journal.who()
        content = kind.content(self._policy())

        def drafts(decided: Decided) -> list[Draft]:
            in_force, proposal = agreed_terms(decided.entries, kind)
            latest = proposal or in_force
            if (latest.content if latest else {}) == content:
                return []
            body = {kind.name: content, "reason": reason.strip()}
            return [Draft(kind.proposed, _hash(content), body, who)]

        return self._decide(drafts, who)

    def accept(self, *, actor: Actor | None = None) -> Table:
        """Put the proposed terms in force.

        Raise ActionRefused if no terms are proposed, if `policy.toml` has changed since, or if the
        proposer accepts them and the policy does not allow one person. `actor` is by default the
        person at the login.

        >>> t.limits.accept()
        """
        kind = self.kind
        who = actor or self._journal.who()

        def drafts(decided: Decided) -> list[Draft]:
            _, proposal = agreed_terms(decided.entries, kind)
            policy = self._policy()
            if proposal is None:
                raise ActionRefused(
                    f"no {kind.name} are proposed",
                    do=f"write them below {kind.table} in {POLICY_FILE}, then run"
                    f" `{kind.command} --propose --reason …`",
                )
            if proposal.content != kind.content(policy):
                raise ActionRefused(
                    f"{POLICY_FILE} differs from what {proposal.proposed_by} proposed",
                    do=f"have the {kind.name} in the file proposed again",
                )
            alone = same_person(proposal.proposed_by, who.name)
            if alone and not policy.one_person:
                raise ActionRefused(
                    f"{who.name} proposed these {kind.name} and cannot accept them",
                    do="have a colleague accept them",
                )
            body = {"proposal": proposal.seq, "alone": alone}
            return [Draft(kind.accepted, _hash(proposal.content), body, who)]

        return self._decide(drafts, who)

    def list(self) -> Table:
        """Return the terms in force, and the terms waiting for a second person.

        >>> t.limits.list()
        """
        return self._listed(self._decided())

    def _decided(self) -> Decided:
        """Return people's decisions up to the time of the question (`until`)."""
        return read_decided(self._journal, until=self._until)

    def _decide(self, drafts: Callable[[Decided], Sequence[Draft]], who: Actor) -> Table:
        require_present(self._until)
        self._policy().check_identity(who)

        def build(decided: Decided) -> tuple[Sequence[Draft], Decided]:
            return drafts(decided), decided

        added, decided = decide(self._journal, build)
        return self._listed(decided.after(added))

    def _listed(self, decided: Decided) -> Table:
        terms = agreed_terms(decided.entries, self.kind)
        table = standing_rows(terms, self.rows, self.columns, without=self.without)
        return Table(table, zone=self._zone)


def standing_rows(
    terms: Sequence[AgreedTerms | None],
    rows: Callable[[AgreedTerms | None], Iterable[dict[str, Any]]],
    columns: pa.Schema,
    *,
    without: str = "",
) -> pa.Table:
    """Return a row for each of the terms in force and the waiting terms.

    `without` are the words for a proposal that removes all terms.
    """
    pairs = zip(_STANDINGS, terms, strict=True)
    listed = [{"standing": words, **row} for words, each in pairs for row in rows(each)]
    proposal = terms[1]
    if without and proposal is not None and not proposal.content:
        listed.append({"standing": f"{WAITING}: {without}", **proposal.people})
    return pa.Table.from_pylist(listed, schema=columns)


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
