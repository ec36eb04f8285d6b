"""The declaration of one kind of action, which every part of this package reads.

A kind declares its fields, the facts to check before it is allowed (`read`), its call and
credential, how safely it can be sent again, and how its effect is recognised. The other modules
loop over kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds.service_records import RecordFeed, ServiceRecords
from treasury.actions.seen_request import RampSeen
from treasury.api.bodies import Body
from treasury.api.codec import Record
from treasury.api.created_records import SKEW, created_since, only_one
from treasury.api.operations import IDENTITY, SERVICE_OF, Service
from treasury.core.errors import InputError, OutcomeUnknown
from treasury.core.money import exponent, format_amount, is_exact_in
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.api import Client

_KEY: Final = "idempotency_key"
Safety = Literal["keyed", "versioned", "neither"]
"""How often an operation may be sent.

`keyed`: the identical request sent again is carried out once. `versioned`: it carries the version
that was read, so only one of two can take effect. `neither`: it is sent at most once, in any case.
"""


class AssetAmount(msgspec.Struct, frozen=True):
    """An amount in its currency or asset."""

    currency: str
    amount: Decimal

    def __str__(self) -> str:
        return format_amount(self.amount, self.currency)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The findings before an action: its facts, its sentence, and values that its call needs.

    `masked` is the sentence for places that are saved or shared: it shows only the ends of
    accounts.
    """

    facts: tuple[Fact, ...]
    says: str
    masked: str
    money: AssetAmount | None = None
    version: int | None = None
    request: RampSeen | None = None
    resolved: Mapping[str, str] = {}
    """Ids that the body needs and that people name differently."""
    drawn: tuple[str, str, Decimal] | None = None
    """The account, asset and amount that it takes from a balance, if known."""

    @property
    def problem(self) -> str:
        """Why it is not allowed, beginning with the field; empty if it is."""
        wrong = next((fact for fact in self.facts if fact.problem), None)
        if wrong is None:
            return ""
        return f"{wrong.field}: {wrong.problem}" if wrong.field else wrong.problem


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it was sent, to recognise its effect."""

    fields: Any
    ids: tuple[str, ...]
    body: Body | None
    key: str
    version: int | None
    at: datetime
    foreign_ids: tuple[str, ...] = ()
    """Ids of similar records that existed before or that other actions made."""


def describe(facts: Iterable[Fact], says: Callable[[bool], str], **more: Any) -> Findings:
    """Build findings from `says(False)`, the full sentence, and `says(True)`, the masked one."""
    return Findings(facts=tuple(facts), says=says(False), masked=says(True), **more)


def ending(text: str, masked: bool, otherwise: str = "") -> str:
    """Return the number of an account or address, or its masked end; `otherwise` if empty."""
    return f"…{text[-4:]}" if masked else clean(text) or otherwise


def body_from(model: type[Body], **renamed: str) -> Callable[[Any, Findings, str], Body]:
    """Return a function that builds a body from fields of the same names; `renamed` differ.

    The version and resolved ids come from the findings. Without a key, the body has none or its
    own, unless the key is what makes a repeat safe.
    """
    names = {name: renamed.get(name, name) for name in model.__struct_fields__}
    required = {field.name for field in msgspec.structs.fields(model) if field.required}

    def make(fields: Any, findings: Findings, key: str) -> Body:
        if isinstance(fields, model):
            return fields
        if findings.version is None and "version" in required:
            raise InputError("version: was not shown", do="sync its details")
        content = {name: getattr(fields, own, None) for name, own in names.items()}
        content |= {"version": findings.version, **findings.resolved}
        content[_KEY] = key if model.REPEATS == "keyed" else key or None
        return model(**{n: v for n, v in content.items() if n in names and v is not None})

    return make


def exact_facts(amount: Decimal, unit: str, field: str = "amount") -> list[Fact]:
    """Return a fact with a problem if an amount has more decimals than its unit."""
    if is_exact_in(amount, unit):
        return []
    problem = f"{amount} has more decimals than {unit}, which has {exponent(unit)}"
    return [fact("amount", amount, field=field, problem=problem)]


def listed_alike(
    listing: Callable[[Client, Any], Iterable[Record[Any]]],
) -> Callable[[Client, Any, Body], Iterable[Any]]:
    """Return a function that finds listed records equal to a body, before it is sent."""

    def alike(client: Client, fields: Any, body: Body) -> Iterable[Any]:
        return (record.value for record in listing(client, fields) if body.is_like(record.value))

    return alike


def created_in(
    operation: str,
    listing: Callable[[Client, Any], Iterable[Record[Any]]],
    detail: Callable[[Client, str], Record[Any]] | None = None,
) -> dict[str, Any]:
    """Declare how a new record is recognised in a list, and which records are like it.

    `detail` is for a list with sparse items.
    """
    look_up = find_created(operation, lambda client, sent: listing(client, sent.fields), detail)
    return {"shows": is_created, "look_up": look_up, "alike": listed_alike(listing)}


def lately_like(
    feed: RecordFeed[Any], owner: str, *names: str
) -> Callable[[ServiceRecords, Any, Body], Iterable[Any]]:
    """Return a function that finds recent listed records with the action's field values.

    `owner` is the field with the id of the list's owner.
    """

    def twins(records: ServiceRecords, fields: Any, _: Body) -> Iterable[Any]:
        for record in records.lately(feed, getattr(fields, owner)):
            if all(getattr(record, name) == getattr(fields, name) for name in names):
                yield record

    return twins


def find_created(
    operation: str,
    listing: Callable[[Client, Sent], Iterable[Record[Any]]],
    detail: Callable[[Client, str], Record[Any]] | None = None,
    *,
    shows: Callable[[Any, Sent], bool] | None = None,
) -> Callable[[Client, Sent], Record[Any] | None]:
    """Return a function that finds the one created record; `detail` reads sparse items."""

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        is_it = shows or is_created
        created = [record for record in listing(client, sent) if is_it(record.value, sent)]
        if detail is not None:
            assert sent.body is not None
            whole = [detail(client, record.value.id) for record in created]
            created = [record for record in whole if sent.body.is_like(record.value)]
        return only_one(created, operation) if created else None

    return look_up


def find_by_key(
    operation: str,
    listing: Callable[[Client, Sent], Iterable[Record[Any]]],
    *names: str,
    reference: str = "",
) -> Callable[[Client, Sent], Record[Any] | None]:
    """Return a function that finds the record of a keyed kind in a list, by its key or its fields.

    `names` are fields that identify a new record without a key; `reference` is the one of them that
    is our own reference. A missing record proves anything only if listed records carry the key or
    our reference: at least one, and each new one. Otherwise the function raises OutcomeUnknown, and
    also if several records may be the one.
    """
    marks = (_KEY, reference) if reference else (_KEY,)

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        listed = list(listing(client, sent))
        ours = [record for record in listed if getattr(record.value, _KEY, None) == sent.key]
        if ours:
            return only_one(ours, operation)
        earliest = sent.at - SKEW
        new = [
            record
            for record in listed
            if record.value.id not in sent.foreign_ids
            and (record.value.created_at is None or record.value.created_at >= earliest)
        ]
        keyless = [record for record in new if getattr(record.value, _KEY, None) is None]
        for record in keyless:
            if any(getattr(record.value, name) is None for name in names):
                raise _untold(operation, record, names)
        alike = [record for record in keyless if names and as_sent(*names)(record.value, sent)]
        if alike:
            return only_one(alike, operation)
        if not any(_shows_any(record.value, marks) for record in listed):
            raise OutcomeUnknown(
                f"{operation}: no listed record shows {' or '.join(marks)}, so a missing one proves"
                " nothing",
                look_up="ask the provider",
            )
        for record in new:
            if not _shows_any(record.value, marks):
                raise _untold(operation, record, marks)
        return None

    return look_up


def _shows_any(record: Any, names: Iterable[str]) -> bool:
    return any(getattr(record, name, None) is not None for name in names)


def _untold(operation: str, record: Record[Any], names: Iterable[str]) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{operation}: record {clean(record.value.id)} does not show {', '.join(names)}, so it"
        " may be this one",
        look_up="ask the provider",
    )


def read_back(
    get: Callable[[Client, str], Record[Any]], shows: Callable[[Any, Sent], bool]
) -> dict[str, Any]:
    """Declare how an effect on a record is recognised, in an answer and when read back."""

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        record = get(client, *sent.ids)
        return record if shows(record.value, sent) else None

    return {"shows": shows, "look_up": look_up}


def as_sent(*names: str) -> Callable[[Any, Sent], bool]:
    """Return a check that these fields of a record equal the fields that were sent."""

    def shows(record: Any, sent: Sent) -> bool:
        return all(getattr(record, name) == getattr(sent.fields, name) for name in names)

    return shows


def states(*names: str) -> Callable[[Any, Sent], bool]:
    """Return a check that an answer shows the key, or all of these fields.

    The client has compared them with the request; an answer without them may belong to any other.
    """

    def shows(record: Any, _: Sent) -> bool:
        shown = [getattr(record, name, None) is not None for name in names]
        return getattr(record, _KEY, None) is not None or all(shown)

    return shows


def is_created(record: Any, sent: Sent) -> bool:
    """Return whether an answer is a new record that the body may have created."""
    assert sent.body is not None
    answer = Record(record, b"")
    return any(created_since([answer], sent.body, sent.at, sent.foreign_ids))


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of action; its callables get the kind's own struct of fields."""

    name: str
    verb: str
    consequence: str
    operation: str
    credential: str = "maker"
    safety: Safety = "neither"
    fields: type[Any]
    model: type[Any]
    """The type of the answer; Raw if the answer to a deletion is not shown."""
    read: Callable[[Any, ServiceRecords], Findings] = lambda fields, records: fields.read(records)
    """Reads the facts; by default the fields' own `read`."""
    ids: tuple[str, ...] = ()
    """The fields that hold the ids of the route."""
    body: Callable[[Any, Findings, str], Body | None] = lambda *_: None
    shows: Callable[[Any, Sent], bool] | None = None
    """Whether a record, answered or read now, shows the effect.

    Without it, answers show nothing and the effect is looked up.
    """
    detail: Callable[[Client, Sent, str], Record[Any] | None] | None = None
    """Reads the full record by its id if the answer shows too little."""
    refuses_repeat: frozenset[int] = frozenset({409})
    """Statuses with which the service refuses a call that already took effect."""
    event: str = ""
    """The event of a ramp request that shows the effect, and the user that the service names."""
    look_up: Callable[[Client, Sent], Record[Any] | None] | None = None
    """Finds the record that shows the effect, or None if there is none (yet).

    Raises OutcomeUnknown if several might. A kind without it cannot be looked up: the service does
    not list it.
    """
    alike: Callable[[Client, Any, Body], Iterable[Any]] | None = None
    """Records equal to the new one that existed before it: they are not ours."""
    twins: Callable[[ServiceRecords, Any, Body], Iterable[Any]] | None = None
    """Records that do the same, shown to a person before it is done again."""
    gives_hash: Callable[[Any], str] | None = None
    """The transaction hash that it gives for its request; each hash belongs to one request."""
    has_key: bool = False
    """Whether its body takes a key as evidence only, which makes no repeat safe."""
    second_person: bool = True
    """Whether a second person has to approve it if no policy rules otherwise."""
    decides_on_maker: bool = False
    """Whether it approves what another person made; the maker may then never do it."""

    def ids_of(self, fields: Any) -> tuple[str, ...]:
        """Return the values of the ids in the route."""
        return tuple(getattr(fields, name) for name in self.ids)

    @property
    def creates(self) -> bool:
        """Whether its answer is a new record rather than the one in its route."""
        return not IDENTITY.get(self.operation, "").startswith("id={")

    @property
    def service(self) -> Service:
        """The service of its operation, as `operations.csv` declares it."""
        return SERVICE_OF[self.operation]

    @property
    def takes_key(self) -> bool:
        """Whether a key is fixed with its content and sent along."""
        return self.safety == "keyed" or self.has_key

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.operation.partition(" ")[0]

    @property
    def route(self) -> str:
        """The specification's route."""
        return self.operation.partition(" ")[2]
