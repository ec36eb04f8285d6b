"""Operations on parties; a new party's identity check is pending until a driver sets its result."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from treasury.core.text import camel_case
from treasury.sandbox.finance.finance_records import accounts_of, party_of, put_party
from treasury.sandbox.http.body_fields import Country, JsonBody, Key, Long, Name
from treasury.sandbox.http.exchange import Call, Refusal, invalid
from treasury.sandbox.http.idempotency import create_route, write_route
from treasury.sandbox.http.lists import Listing, detail_of, list_route, read_route
from treasury.sandbox.state.shapes import Address, Party, bare
from treasury.sandbox.story.world import World

_FIELDS: Final = {
    "INDIVIDUAL": ("first_name", "last_name", "address"),
    "ORGANISATION": ("name", "vat_number", "address"),
}
_VatNumber = Annotated[str, msgspec.Meta(min_length=1, max_length=50)]


class AddressParts(JsonBody, frozen=True, kw_only=True):
    """An address whose parts are all optional."""

    address_line1: Long | None = None
    address_line2: Long | None = None
    city: Long | None = None
    state: Long | None = None
    postal_code: Long | None = None
    country: Country | None = None


class AddressBody(AddressParts, frozen=True, kw_only=True):
    """An address with its mandatory and optional fields."""

    address_line1: Long
    city: Long
    postal_code: Long
    country: Country


class _PartyBody(JsonBody, frozen=True, kw_only=True, tag_field="partyType"):
    """A JSON object that states the party's type."""


class IndividualFields(_PartyBody, frozen=True, kw_only=True, tag="INDIVIDUAL"):
    """A new natural person."""

    first_name: Name
    last_name: Name
    address: AddressParts | None = None
    external_id: Long | None = None
    idempotency_key: Key | None = None


class OrganisationFields(_PartyBody, frozen=True, kw_only=True, tag="ORGANISATION"):
    """A new company."""

    name: Long
    vat_number: _VatNumber | None = None
    address: AddressParts | None = None
    external_id: Long | None = None
    idempotency_key: Key | None = None


class IndividualBody(IndividualFields, frozen=True, kw_only=True):
    """A new natural person; an address, if sent, must be complete."""

    address: AddressBody | None = None


class OrganisationBody(OrganisationFields, frozen=True, kw_only=True):
    """A new company; an address, if sent, must be complete."""

    address: AddressBody | None = None


PartyBody: TypeAlias = IndividualBody | OrganisationBody
PartyFields: TypeAlias = IndividualFields | OrganisationFields


class PartyChangeFields(JsonBody, frozen=True, kw_only=True):
    """The changeable fields of a party, and the version that the caller read."""

    version: int | None = None
    first_name: Name | None = None
    last_name: Name | None = None
    name: Long | None = None
    vat_number: _VatNumber | None = None
    address: AddressParts | None = None


class PartyChanges(PartyChangeFields, frozen=True, kw_only=True):
    """The changeable fields of a party; an address, if sent, must be complete."""

    address: AddressBody | None = None


_PARTY: Final = cast(type[PartyBody], PartyBody)


def create_party(world: World, call: Call) -> Party:
    """POST /parties: create a party."""
    return make_party(world, call.read(_PARTY))


def make_party(world: World, body: PartyFields) -> Party:
    """Create a party whose identity check is pending."""
    now, own = bare(world.clock.tick()), msgspec.structs.asdict(body)
    del own["idempotency_key"]
    own["kyc_status" if isinstance(body, IndividualFields) else "kyb_status"] = "PENDING"
    own |= {"address": _address(body.address), "created_at": now, "updated_at": now, "version": 0}
    party_type = str(body.__struct_config__.tag)
    party = Party(id=world.ids.uuid(), party_type=party_type, status="ACTIVE", **own)
    return put_party(world, party)


def change_party(world: World, call: Call) -> Party:
    """PATCH /parties/{id}: change fields of a party; a version, if sent, must be current."""
    party, body = party_of(world, call.path["id"]), call.read(PartyChanges)
    if body.version is not None and body.version != party.version:
        raise Refusal(409, "CONFLICT", "Party changed; read it again and retry.")
    changes: dict[str, Any] = {
        name: value
        for name, value in msgspec.structs.asdict(body).items()
        if value is not None and name != "version"
    }
    for name in changes:
        if name not in _FIELDS[party.party_type]:
            raise invalid(f"{camel_case(name)} is not a field of an {party.party_type} party.")
    if body.address is not None:
        changes["address"] = _address(body.address)
    changed = replace(
        party, **changes, version=party.version + 1, updated_at=bare(world.clock.tick())
    )
    return put_party(world, changed)


def delete_party(world: World, call: Call) -> None:
    """DELETE /parties/{id}: delete a party that has no accounts and is not blocked."""
    party = party_of(world, call.path["id"])
    if party.status == "BLOCKED":
        raise Refusal(409, "CONFLICT", "A blocked party cannot be deleted.")
    if accounts_of(world, party.id):
        raise Refusal(409, "CONFLICT", "The party still has an account.")
    world.store.remove("party", id=party.id)


def _address(body: AddressParts | None) -> Address | None:
    return None if body is None else Address(**msgspec.structs.asdict(body))


_LIST: Final = Listing(
    kind="party",
    filters={"partyType": "type", "status": "status", "externalId": "reference"},
    values={
        "partyType": ("INDIVIDUAL", "ORGANISATION"),
        "status": ("ACTIVE", "SUSPENDED", "BLOCKED"),
    },
)
PARTY_ROUTES: Final = (
    create_route("/parties", create_party, PartyBody, Party, "Create a party and start its check."),
    list_route("/parties", _LIST, Party, "List the parties."),
    read_route("/parties/{id}", detail_of("party", "party"), Party, "Get a party."),
    write_route(
        "PATCH /parties/{id}", change_party, PartyChanges, Party, "Change fields of a party.", 409
    ),
    write_route(
        "DELETE /parties/{id}", delete_party, None, None,
        "Delete a party that has no account and is not blocked.", 409, status=204,
    ),
)  # fmt: skip
