"""Idempotency of writes: each key is bound to one path and body, and takes effect once.

A repeated call gets the first answer, byte for byte. The same key with another body is refused,
even if the first call failed; the first body may be retried. Key and effect are written in one
transaction.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from treasury.core.decoding import decode_json
from treasury.sandbox.http import exchange
from treasury.sandbox.http.body_fields import UUID4
from treasury.sandbox.http.exchange import Call, Handler, Refusal, Reply, Route, Write, result
from treasury.sandbox.state.keys import Effect
from treasury.sandbox.state.shapes import encode
from treasury.sandbox.story.world import World

_KEY: Final = re.compile(UUID4)


def key_in(body: dict[str, Any], *, any_text: bool = False) -> str:
    """Return a body's key, from its top level or from its payment; empty if there is none.

    An invalid key is ignored here and refused when the body is read; with `any_text`, any text is
    valid.
    """
    payment = body.get("paymentRequest")
    key = body.get("idempotencyKey") or (
        payment.get("idempotencyKey") if isinstance(payment, dict) else None
    )
    if not isinstance(key, str):
        return ""
    if _KEY.fullmatch(key):
        return key.lower()
    return key if any_text else ""


def once(
    write: Write, status: int, *, keyed: bool = True, any_text: bool = False, reused: int = 422
) -> Handler:
    """Return a write that takes effect at most once per key, and records its effects.

    If `keyed` is false, keys are ignored. With `any_text`, a key need not be a UUID. `reused` is
    the status that refuses a used key with another body.
    """

    def answered(world: World, call: Call) -> Reply:
        value = write(world, call)
        return Reply("", status) if status == 204 else result(encode(value), status)

    def serve(world: World, call: Call) -> Reply:
        if not keyed and "idempotencyKey" in call.body:
            call = _without_key(call)
        key = key_in(call.body, any_text=any_text) if keyed else ""
        digest = world.keys.digest(call.address, call.raw)
        if not key:
            return _note_effect(world, call, key, digest, answered(world, call))
        bound = world.keys.find(key)
        if bound and bound.digest != digest:
            raise Refusal(reused, "IDEMPOTENCY_CONFLICT", "Key was used for another request.")
        if bound and bound.status:
            return Reply(bound.answer, bound.status)
        world.keys.bind(key, digest)
        try:
            with world.store.transaction():
                reply = answered(world, call)
        except Refusal as refusal:
            # The refusal is returned, not raised, because an exception would also roll back the
            # key's binding.
            return refusal.reply()
        world.keys.answer(key, reply.status, reply.body)
        return _note_effect(world, call, key, digest, reply)

    return serve


def _without_key(call: Call) -> Call:
    """Return the call without its key; the bytes of all other fields stay the same."""
    fields = decode_json(call.raw, dict[str, msgspec.Raw])
    del fields["idempotencyKey"]
    body = {name: value for name, value in call.body.items() if name != "idempotencyKey"}
    return replace(call, body=body, raw=msgspec.json.encode(fields))


def _note_effect(world: World, call: Call, key: str, digest: str, reply: Reply) -> Reply:
    created = decode_json(reply.body or "{}", dict[str, Any]).get("result") or {}
    record = created.get("id") or next(iter(call.path.values()), "")
    world.keys.note(Effect(call.user.id, call.address, key, digest, record))
    return reply


def write_route(
    operation: str,
    write: Write,
    takes: Any,
    gives: Any,
    says: str,
    *refuses: int,
    status: int = 200,
    scope: str = "",
    published: bool = True,
) -> Route:
    """Return the route of an idempotent write.

    With a `scope`, every role that has it may call the route; without, only managers and
    administrators may. Profile `b` lacks the route if `published` is false.
    """
    method, path = operation.split()
    roles = exchange.EVERYONE if scope else exchange.MANAGERS
    return Route(
        method, path, once(write, status), roles, write, scope, says=says, takes=takes,
        gives=gives, status=status, refuses=refuses, published=published,
    )  # fmt: skip


def create_route(
    path: str,
    write: Write,
    takes: Any,
    gives: Any,
    says: str,
    *refuses: int,
    scope: str = "",
    published: bool = True,
) -> Route:
    """Return the route of a write that creates a record."""
    return write_route(
        f"POST {path}", write, takes, gives, says, *refuses,
        status=201, scope=scope, published=published,
    )  # fmt: skip
