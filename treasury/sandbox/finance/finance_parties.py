"""Parties: made, changed and deleted through the service; their checks are the platform's."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from treasury.sandbox.finance.finance_records import accounts_of, party_of, put_party
from treasury.sandbox.http.body_fields import (
    AddressParts,
    IndividualFields,
    PartyBody,
    PartyChanges,
    PartyFields,
)
from treasury.sandbox.http.exchange import Call, Refusal, Reply, invalid, result
from treasury.sandbox.state.shapes import Address, Party, bare, encode
from treasury.sandbox.story.world import World
from treasury.text import camel_case

__all__ = ["change_party", "create_party", "delete_party", "make_party"]

_FIELDS: Final = {
    "INDIVIDUAL": ("first_name", "last_name", "address"),
    "ORGANISATION": ("name", "vat_number", "address"),
}


_PARTY: Final = cast(type[PartyBody], PartyBody)


def create_party(world: World, call: Call) -> Reply:
    """POST /parties."""
    return result(encode(make_party(world, call.read(_PARTY))), 201)


def make_party(world: World, body: PartyFields) -> Party:
    """A new party, whose check has begun."""
    now = bare(world.clock.tick())
    person = isinstance(body, IndividualFields)
    party = Party(
        id=world.ids.uuid(), external_id=body.external_id,
        party_type="INDIVIDUAL" if person else "ORGANISATION", status="ACTIVE",
        first_name=body.first_name if isinstance(body, IndividualFields) else None,
        last_name=body.last_name if isinstance(body, IndividualFields) else None,
        name=None if isinstance(body, IndividualFields) else body.name,
        vat_number=None if isinstance(body, IndividualFields) else body.vat_number,
        kyc_status="PENDING" if person else None, kyb_status=None if person else "PENDING",
        address=_address(body.address), created_at=now, updated_at=now, version=0,
    )  # fmt: skip
    return put_party(world, party)


def change_party(world: World, call: Call) -> Reply:
    """PATCH /parties/{id}: only fields of its own type; a version, where given, must be fresh."""
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
    changed = msgspec.structs.replace(
        party, **changes, version=party.version + 1, updated_at=bare(world.clock.tick())
    )
    return result(encode(put_party(world, changed)))


def delete_party(world: World, call: Call) -> Reply:
    """DELETE /parties/{id}: one that has no account and is not blocked."""
    party = party_of(world, call.path["id"])
    if party.status == "BLOCKED":
        raise Refusal(409, "CONFLICT", "A blocked party cannot be deleted.")
    if accounts_of(world, party.id):
        raise Refusal(409, "CONFLICT", "The party still has an account.")
    world.store.remove("party", id=party.id)
    return Reply("", 204)


def _address(body: AddressParts | None) -> Address | None:
    return None if body is None else Address(**msgspec.structs.asdict(body))
