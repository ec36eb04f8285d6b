"""The company's users: permissions by role, and operations that invite, change and remove users.

A role has scopes (permissions), and an operation may require a scope. The specification does not
show the scopes; here no read requires one, except the export of ramp requests. The URL in an
invitation is the invited person's secret.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec.structs import replace

from treasury.sandbox.http.body_fields import KeyedBody, Name, fields_of
from treasury.sandbox.http.exchange import Call, Refusal, Reply, Write, result, stored
from treasury.sandbox.http.idempotency import write_route
from treasury.sandbox.http.lists import all_of, read_route
from treasury.sandbox.state.shapes import Company, Shape, User, decode, encode
from treasury.sandbox.story.world import World

_VIEW: Final = frozenset((
    "view:ramp-request", "export:ramp-requests", "view:company-wallet", "view:company-bank-account",
))  # fmt: skip
_MANAGE: Final = _VIEW | {"create:ramp-request", "edit:ramp-request", "cancel:ramp-request"}
SCOPES: Final = {
    "COMPANY_VIEWER": _VIEW,
    "COMPANY_MANAGER": _MANAGE,
    "COMPANY_ADMIN": _MANAGE | {
        "approve:ramp-request", "reject:ramp-request", "manage:company-wallet",
        "manage:company-bank-account", "manage:company-users",
    },
}  # fmt: skip
"""Scopes of each role. The names are the deployed service's; which role has which is invented."""

_Role = Literal["COMPANY_ADMIN", "COMPANY_MANAGER", "COMPANY_VIEWER"]
_Email = Annotated[str, msgspec.Meta(max_length=254, pattern=r"^[^@\s]+@[^@\s]+$")]


class Invitation(KeyedBody, frozen=True, kw_only=True):
    """The e-mail address and role of a person to invite."""

    email: _Email
    role: _Role
    first_name: Name
    last_name: Name


class ChangingRole(KeyedBody, frozen=True, kw_only=True):
    """The new role of a user."""

    role: _Role


class ChangingStatus(KeyedBody, frozen=True, kw_only=True):
    """The new status of a user: whether they may sign in."""

    enabled: bool


class CompanyClaim(Shape, frozen=True, kw_only=True):
    """The company of the token's user, as stated in the answer."""

    id: str
    name: str


class Principal(Shape, frozen=True, kw_only=True):
    """The user of a token."""

    user_id: str
    username: str
    email: str
    first_name: str
    last_name: str
    realm_roles: list[str]
    company: CompanyClaim
    name: str


def invite(world: World, call: Call) -> User:
    """Create a user whose invitation is pending."""
    invitation = call.read(Invitation)
    if any(user.email == invitation.email for user in _users(world)):
        raise Refusal(400, "VALIDATION_ERROR", "email belongs to a user of the company.")
    user = User(
        id=world.ids.uuid(), username=invitation.email.partition("@")[0], email=invitation.email,
        first_name=invitation.first_name, last_name=invitation.last_name, enabled=True,
        role=invitation.role,
        invitation_url=f"https://login.example.test/invite/{world.ids.token()[:24]}",
        invitation_status="PENDING",
    )  # fmt: skip
    world.clock.tick()
    return world.keep(user)


def accept_invitation(world: World, email: str) -> User | None:
    """Accept the pending invitation of an e-mail address; return None if there is none."""
    for user in _users(world):
        if user.email == email and user.invitation_status == "PENDING":
            return world.keep(replace(user, invitation_url=None, invitation_status="ACCEPTED"))
    return None


def show_principal(world: World, call: Call) -> Reply:
    """GET /auth/user: return the token's user."""
    user, company = call.user, world.cast.company
    principal = Principal(
        user_id=user.id, username=user.username, email=user.email, first_name=user.first_name,
        last_name=user.last_name, realm_roles=[user.role],
        company=CompanyClaim(id=company.id, name=company.name),
        name=f"{user.first_name} {user.last_name}",
    )  # fmt: skip
    return result(encode(principal))


def _user(world: World, call: Call) -> User:
    """Return another user by id. Raises a 403 for oneself, so that an administrator remains."""
    user = stored(world, "user", call.path["userId"], User)
    if user.id == call.user.id:
        raise Refusal(403, "FORBIDDEN", "Nobody may change or remove themselves.")
    return user


def changing(shape: type[ChangingRole | ChangingStatus]) -> Write:
    """Return a handler that changes another user as a body of this type states."""

    def serve(world: World, call: Call) -> User:
        user, body = _user(world, call), call.read(shape)
        world.clock.tick()
        return world.keep(replace(user, **fields_of(body)))

    return serve


def remove_user(world: World, call: Call) -> None:
    """DELETE /company/users/{userId}: remove another user."""
    user = _user(world, call)
    world.clock.tick()
    world.store.remove("user", id=user.id)


def _users(world: World) -> list[User]:
    return [decode(text, User) for text in world.store.page("user", {}).items]


PEOPLE_ROUTES: Final = (
    read_route(
        "/company", lambda world, _: result(world.store.page("company", {}).items[0]), Company,
        "Get the company and the status of its verification.",
    ),
    read_route("/company/users", all_of("user"), list[User], "List the company's users."),
    write_route(
        "POST /company/users/invite", invite, Invitation, User, "Invite a user.",
        scope="manage:company-users",
    ),
)  # fmt: skip
