"""What a kind of action is: one declaration that every part of the room reads.

A kind says which fields it takes, what has to be known of the world before it may be taken
(`read`), which call it is and with which credential, how safe it is to send again, and how its
effect is recognised afterwards. The rest of the room is loops over kinds.
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

`keyed`: the identical request again is carried out once. `versioned`: it carries the version that
was read, so of two only one can take effect. `neither`: at most once, whatever happens.
"""


class AssetAmount(msgspec.Struct, frozen=True):
    """An amount in its currency or asset."""

    currency: str
    amount: Decimal

    def __str__(self) -> str:
        return format_amount(self.amount, self.currency)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before an action: its facts, the sentence of what will happen, what it needs.

    `masked` is the sentence for a place that is saved or shared: accounts by their ends only.
    """

    facts: tuple[Fact, ...]
    says: str
    masked: str
    money: AssetAmount | None = None
    version: int | None = None
    request: RampSeen | None = None
    resolved: Mapping[str, str] = {}
    """Ids that the body needs and a person names otherwise."""
    drawn: tuple[str, str, Decimal] | None = None
    """Account, asset and amount that it takes from a balance, where that is known."""

    @property
    def problem(self) -> str:
        """Why it cannot be taken, beginning with the field; empty where it can."""
        wrong = next((fact for fact in self.facts if fact.problem), None)
        if wrong is None:
            return ""
        return f"{wrong.field}: {wrong.problem}" if wrong.field else wrong.problem


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it left, for recognising its effect."""

    fields: Any
    ids: tuple[str, ...]
    body: Body | None
    key: str
    version: int | None
    at: datetime
    foreign_ids: tuple[str, ...] = ()
    """Ids of like records that were there before, or that other actions have made."""


def describe(facts: Iterable[Fact], says: Callable[[bool], str], **more: Any) -> Findings:
    """Findings whose sentence is `says(False)`, and `says(True)` where accounts are masked."""
    return Findings(facts=tuple(facts), says=says(False), masked=says(True), **more)


def ending(text: str, masked: bool, otherwise: str = "") -> str:
    """The number of an account or an address, or where masked its end; `otherwise` for none."""
    return f"…{text[-4:]}" if masked else clean(text) or otherwise


def body_from(model: type[Body], **renamed: str) -> Callable[[Any, Findings, str], Body]:
    """What makes a body whose fields are called as the action's; `renamed` are called otherwise.

    The version and the ids that are found out are taken from the findings. Where there is no key
    the body does without, or has one of its own, unless it is the key that makes a repeat safe.
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
    """That an amount has more decimals than its unit, where it has."""
    if is_exact_in(amount, unit):
        return []
    problem = f"{amount} has more decimals than {unit}, which has {exponent(unit)}"
    return [fact("amount", amount, field=field, problem=problem)]


def listed_alike(
    listing: Callable[[Client, Any], Iterable[Record[Any]]],
) -> Callable[[Client, Any, Body], Iterable[Any]]:
    """What finds the records of a list that are like a body, before it is sent."""

    def alike(client: Client, fields: Any, body: Body) -> Iterable[Any]:
        return (record.value for record in listing(client, fields) if body.is_like(record.value))

    return alike


def created_in(
    operation: str,
    listing: Callable[[Client, Any], Iterable[Record[Any]]],
    detail: Callable[[Client, str], Record[Any]] | None = None,
) -> dict[str, Any]:
    """How a kind's record is recognised in a list, given the action's fields, and the likes of it.

    `detail` is for a list whose items tell little.
    """
    look_up = find_created(operation, lambda client, sent: listing(client, sent.fields), detail)
    return {"shows": is_created, "look_up": look_up, "alike": listed_alike(listing)}


def lately_like(
    feed: RecordFeed[Any], owner: str, *names: str
) -> Callable[[ServiceRecords, Any, Body], Iterable[Any]]:
    """What finds the records of a list that were made lately and whose fields are the action's.

    `owner` is the field that says whose list it is.
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
    """What finds the one record of a list that was created; `detail` where an item tells little."""

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

    `names` are fields that identify a new record without a key, `reference` the one of them that is
    our own reference. A record that is not found is missing only if listed records carry the key or
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
        f"{operation}: record {clean(record.value.id)} does not show {', '.join(names)}, so whether"
        " it is this one is not known",
        look_up="ask the provider",
    )


def read_back(
    get: Callable[[Client, str], Record[Any]], shows: Callable[[Any, Sent], bool]
) -> dict[str, Any]:
    """How a kind's effect on a record is recognised, in an answer and when it is read again."""

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        record = get(client, *sent.ids)
        return record if shows(record.value, sent) else None

    return {"shows": shows, "look_up": look_up}


def as_sent(*names: str) -> Callable[[Any, Sent], bool]:
    """A check of a record: these fields are what was sent."""

    def shows(record: Any, sent: Sent) -> bool:
        return all(getattr(record, name) == getattr(sent.fields, name) for name in names)

    return shows


def states(*names: str) -> Callable[[Any, Sent], bool]:
    """A check of an answer: it shows the key, or all of these fields.

    The client has compared them with the request; an answer without them may belong to any other.
    """

    def shows(record: Any, _: Sent) -> bool:
        shown = [getattr(record, name, None) is not None for name in names]
        return getattr(record, _KEY, None) is not None or all(shown)

    return shows


def is_created(record: Any, sent: Sent) -> bool:
    """Whether an answer is a record that the body may have created, and none from before."""
    assert sent.body is not None
    answer = Record(record, b"")
    return any(created_since([answer], sent.body, sent.at, sent.foreign_ids))


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of action; the callables get the kind's own struct of fields."""

    name: str
    verb: str
    consequence: str
    operation: str
    credential: str = "maker"
    safety: Safety = "neither"
    fields: type[Any]
    model: type[Any]
    """What the service answers with; Raw where what it says of a deletion is not shown."""
    read: Callable[[Any, ServiceRecords], Findings] = lambda fields, records: fields.read(records)
    """What is found out for it; the fields themselves know that where nothing else is declared."""
    ids: tuple[str, ...] = ()
    """The fields that hold the ids of the route."""
    body: Callable[[Any, Findings, str], Body | None] = lambda *_: None
    shows: Callable[[Any, Sent], bool] | None = None
    """Whether a record, as the service answers or tells it now, has had the effect. The answer of a
    kind without it shows nothing: its effect is looked up."""
    detail: Callable[[Client, Sent, str], Record[Any] | None] | None = None
    """Reads, by its id, the record of an answer that shows too little."""
    refuses_repeat: frozenset[int] = frozenset({409})
    """The statuses with which the service refuses what has taken effect already."""
    event: str = ""
    """The event of a ramp request that the effect shows as; its user is whom the service names."""
    look_up: Callable[[Client, Sent], Record[Any] | None] | None = None
    """The record that shows the effect, or None where none does (yet); OutcomeUnknown where
    several might. A kind without it cannot be looked up: the service does not list it."""
    alike: Callable[[Client, Any, Body], Iterable[Any]] | None = None
    """Records that are like what is to be created, before it is: they are none of ours."""
    twins: Callable[[ServiceRecords, Any, Body], Iterable[Any]] | None = None
    """Records that do the same, to be seen before it is done once more."""
    gives_hash: Callable[[Any], str] | None = None
    """The transaction hash that it gives for its request, which no other request has."""
    has_key: bool = False
    """Whether its body takes a key although the key makes no second sending safe: as evidence."""
    second_person: bool = True
    """Whether, where no policy says otherwise, somebody else has to approve it."""
    decides_on_maker: bool = False
    """Whether it is itself the approval of what somebody made: then never that one's."""

    def ids_of(self, fields: Any) -> tuple[str, ...]:
        """The ids of the route."""
        return tuple(getattr(fields, name) for name in self.ids)

    @property
    def creates(self) -> bool:
        """Whether its answer is a new record, and not the one that its route names."""
        return not IDENTITY.get(self.operation, "").startswith("id={")

    @property
    def service(self) -> Service:
        """The service of its operation, as `operations.csv` declares it."""
        return SERVICE_OF[self.operation]

    @property
    def takes_key(self) -> bool:
        """Whether a key is decided on with its content, and sent along."""
        return self.safety == "keyed" or self.has_key

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.operation.partition(" ")[0]

    @property
    def route(self) -> str:
        """The specification's route."""
        return self.operation.partition(" ")[2]
