"""The declaration of a kind of action.

A kind declares its fields, the facts to check (`read`), its call and credential, whether the call
may be repeated, and how its effect is recognised. All other modules of actions work from these
declarations.
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
"""Whether a call may be repeated.

`keyed`: the service executes identical requests once. `versioned`: the call names the version that
was read, so only one of two calls takes effect. `neither`: the call is sent at most once.
"""


class AssetAmount(msgspec.Struct, frozen=True):
    """An amount, and its currency or asset."""

    currency: str
    amount: Decimal

    def __str__(self) -> str:
        return format_amount(self.amount, self.currency)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking an action: its facts, its sentence, and the values for its call.

    `masked` is the sentence for output that is saved or shared; it shows only the ends of accounts.
    """

    facts: tuple[Fact, ...]
    says: str
    masked: str
    money: AssetAmount | None = None
    version: int | None = None
    request: RampSeen | None = None
    resolved: Mapping[str, str] = {}
    """Ids that the body needs, for records that people name in another way."""
    drawn: tuple[str, str, Decimal] | None = None
    """The account, asset and amount that the action will debit, if known."""

    @property
    def problem(self) -> str:
        """Why the action is not allowed, with the field's name first; empty if it is allowed."""
        wrong = next((fact for fact in self.facts if fact.problem), None)
        if wrong is None:
            return ""
        return f"{wrong.field}: {wrong.problem}" if wrong.field else wrong.problem


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it was sent, used to recognise its effect."""

    fields: Any
    ids: tuple[str, ...]
    body: Body | None
    key: str
    version: int | None
    at: datetime
    foreign_ids: tuple[str, ...] = ()
    """Ids of similar records that existed before, or came from other actions."""


def describe(facts: Iterable[Fact], says: Callable[[bool], str], **more: Any) -> Findings:
    """Build findings; `says(False)` returns the full sentence, `says(True)` the masked sentence."""
    return Findings(facts=tuple(facts), says=says(False), masked=says(True), **more)


def ending(text: str, masked: bool, otherwise: str = "") -> str:
    """Return a number or address, or `otherwise` if it is empty; if `masked`, return its end."""
    return f"…{text[-4:]}" if masked else clean(text) or otherwise


def body_from(model: type[Body], **renamed: str) -> Callable[[Any, Findings, str], Body]:
    """Return a function that builds a body from fields of the same names, or `renamed` ones.

    The version and the resolved ids come from the findings. An empty key is left out, unless the
    key makes repeats of this body safe. Fields that already are a `model` are returned unchanged.
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
    """Return a fact with a problem if an amount has more decimals than its unit, else none."""
    if is_exact_in(amount, unit):
        return []
    problem = f"{amount} has more decimals than {unit}, which has {exponent(unit)}"
    return [fact("amount", amount, field=field, problem=problem)]


def listed_alike(
    listing: Callable[[Client, Any], Iterable[Record[Any]]],
) -> Callable[[Client, Any, Body], Iterable[Any]]:
    """Return a function that lists the records equal to a body, before it is sent."""

    def alike(client: Client, fields: Any, body: Body) -> Iterable[Any]:
        return (record.value for record in listing(client, fields) if body.is_like(record.value))

    return alike


def created_in(
    operation: str,
    listing: Callable[[Client, Any], Iterable[Record[Any]]],
    detail: Callable[[Client, str], Record[Any]] | None = None,
) -> dict[str, Any]:
    """Return the settings of a kind that find a new record, and similar records, in a list.

    `detail` reads a record whose list item has too few fields.
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
) -> Callable[[Client, Sent], Record[Any] | None]:
    """Return a function that finds the created record; `detail` reads an incomplete list item."""

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        created = [record for record in listing(client, sent) if is_created(record.value, sent)]
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

    `names` are the fields that identify a new record without a key; `reference` is the field with
    our own reference. If no record matches, that proves that the call had no effect only if the
    list shows keys or our references: in at least one record, and in every new one. Otherwise, and
    if several records match, the function raises OutcomeUnknown.
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
                f"{operation}: no listed record shows {' or '.join(marks)}, so the list does not"
                " prove that there was no effect",
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
        f"{operation}: record {clean(record.value.id)} does not show {', '.join(names)}, so this"
        " action may have made it",
        look_up="ask the provider",
    )


def read_back(
    get: Callable[[Client, str], Record[Any]], shows: Callable[[Any, Sent], bool]
) -> dict[str, Any]:
    """Return two settings of a kind that recognise an effect, in an answer and later.

    `shows` compares an answer with what was sent; `look_up` reads the record and compares it too.
    """

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        record = get(client, *sent.ids)
        return record if shows(record.value, sent) else None

    return {"shows": shows, "look_up": look_up}


def as_sent(*names: str) -> Callable[[Any, Sent], bool]:
    """Return a function that checks whether these fields of a record equal the sent ones."""

    def shows(record: Any, sent: Sent) -> bool:
        return all(getattr(record, name) == getattr(sent.fields, name) for name in names)

    return shows


def states(*names: str) -> Callable[[Any, Sent], bool]:
    """Return a function that checks whether an answer shows the key, or all of these fields.

    The client has already compared them with the request. An answer that lacks them may be about
    another record.
    """

    def shows(record: Any, _: Sent) -> bool:
        shown = [getattr(record, name, None) is not None for name in names]
        return getattr(record, _KEY, None) is not None or all(shown)

    return shows


def is_created(record: Any, sent: Sent) -> bool:
    """Return whether the answer's record is new and may have been created from the sent body."""
    assert sent.body is not None
    answer = Record(record, b"")
    return any(created_since([answer], sent.body, sent.at, sent.foreign_ids))


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of action; its functions take the struct that holds the kind's fields."""

    name: str
    verb: str
    consequence: str
    operation: str
    credential: str = "maker"
    safety: Safety = "neither"
    fields: type[Any]
    model: type[Any]
    """The type of the answer; Raw for a deletion, whose answer is not read."""
    read: Callable[[Any, ServiceRecords], Findings] = lambda fields, records: fields.read(records)
    """Reads the facts; default: the method `read` of the struct."""
    ids: tuple[str, ...] = ()
    """The names of the fields that hold the route's ids."""
    body: Callable[[Any, Findings, str], Body | None] = lambda *_: None
    shows: Callable[[Any, Sent], bool] | None = None
    """Whether a record, in an answer or read later, shows the effect.

    Without this function, an answer is no evidence, and the effect is looked up.
    """
    detail: Callable[[Client, Sent, str], Record[Any] | None] | None = None
    """Reads the full record by its id if the answer shows too little."""
    refuses_repeat: frozenset[int] = frozenset({409})
    """Statuses with which the service refuses to repeat a successful call."""
    event: str = ""
    """The ramp request's event that shows the effect and names the user."""
    look_up: Callable[[Client, Sent], Record[Any] | None] | None = None
    """Finds the record that shows the effect, or None if there is none (yet).

    Raises OutcomeUnknown if several might. A kind without this function cannot be looked up,
    because the service does not list its records.
    """
    alike: Callable[[Client, Any, Body], Iterable[Any]] | None = None
    """Finds equal records that existed before the call, so they are not its effect."""
    twins: Callable[[ServiceRecords, Any, Body], Iterable[Any]] | None = None
    """Finds records with the same effect; a person sees them before the action is sent."""
    gives_hash: Callable[[Any], str] | None = None
    """The transaction hash that the action submits; each hash belongs to one request."""
    has_key: bool = False
    """Whether the body may have a key that serves as evidence but does not make repeats safe."""
    second_person: bool = True
    """Whether a second person has to approve the action if no rule of the policy applies."""
    decides_on_maker: bool = False
    """Whether the action approves a request, which its maker may do only in a one-person company.
    """

    def ids_of(self, fields: Any) -> tuple[str, ...]:
        """Return the values of the ids in the route."""
        return tuple(getattr(fields, name) for name in self.ids)

    @property
    def creates(self) -> bool:
        """Whether the answer contains a new record instead of the record in the route."""
        return not IDENTITY.get(self.operation, "").startswith("id={")

    @property
    def service(self) -> Service:
        """The service of the operation, as declared in `operations.csv`."""
        if self.operation not in SERVICE_OF:
            raise LookupError(f"{self.operation} has no row in treasury/api/operations.csv")
        return SERVICE_OF[self.operation]

    @property
    def takes_key(self) -> bool:
        """Whether an idempotency key is part of the content and of the call."""
        return self.safety == "keyed" or self.has_key

    @property
    def method(self) -> str:
        """The HTTP method of the call."""
        return self.operation.partition(" ")[0]

    @property
    def route(self) -> str:
        """The route of the call, as in the specification."""
        return self.operation.partition(" ")[2]
