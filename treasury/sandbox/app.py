"""Both services and the token address as one web application, made from the tables of routes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.routing import Route as WebRoute
from starlette.types import ExceptionHandler

from treasury.sandbox import finance, ramp
from treasury.sandbox.faults import STALE
from treasury.sandbox.http import Call, Refusal, Reply, Route
from treasury.sandbox.openapi import FINANCE, RAMP, TOKEN
from treasury.sandbox.openapi_page import document_routes
from treasury.sandbox.people import SCOPES
from treasury.sandbox.tokens import Tokens
from treasury.sandbox.world import World

__all__ = ["FINANCE", "RAMP", "TOKEN", "make_app"]

_READS: Final = ("GET", "HEAD")

_Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(world: World, tokens: Tokens, control: Iterable[WebRoute] = ()) -> Starlette:
    """The application; the world's lock is held while a call reads or changes it."""

    async def token(request: Request) -> Response:
        form = await request.body()
        with world.lock:
            return _response(tokens.exchange(form))

    def endpoint(routes: dict[str, Route]) -> _Endpoint:
        async def serve(request: Request) -> Response:
            body = await request.body()
            with world.lock, world.behind(request.scope.get(STALE, 0)):
                route = routes["GET" if request.method == "HEAD" else request.method]
                return _response(route.dress(_answer(world, tokens, route, request, body)))

        return serve

    def web(routes: Iterable[Route]) -> list[WebRoute]:
        by_path: dict[str, dict[str, Route]] = defaultdict(dict)
        for route in routes:
            by_path[route.path][route.method] = route
        return [
            WebRoute(path, endpoint(methods), methods=list(methods))
            for path, methods in by_path.items()
        ]

    app = Starlette(
        routes=[
            WebRoute(TOKEN, token, methods=["POST"]),
            *document_routes(world.profile),
            Mount(FINANCE, routes=web(finance.routes(world.profile))),
            Mount(RAMP, routes=web(ramp.ROUTES)),
            *control,
        ],
        exception_handlers=_HANDLERS,
    )
    app.router.redirect_slashes = False
    return app


def _answer(world: World, tokens: Tokens, route: Route, request: Request, body: bytes) -> Reply:
    """What a call is answered; a write that is refused leaves nothing behind."""
    try:
        with nullcontext() if request.method in _READS else world.act():
            return _serve(world, tokens, route, request, body)
    except Refusal as refusal:
        return refusal.reply()


def _serve(world: World, tokens: Tokens, route: Route, request: Request, body: bytes) -> Reply:
    user = tokens.user(request.headers.get("authorization", ""))
    if user is None:
        raise Refusal(401, "UNAUTHORIZED", "The token is missing or expired.")
    if user.role not in route.roles:
        raise Refusal(403, "FORBIDDEN", f"{user.role} may not do this.")
    if route.scope and route.scope not in SCOPES[user.role]:
        raise Refusal(403, "INSUFFICIENT_SCOPE", f"{user.role} does not hold {route.scope}.")
    query = parse_qs(request.url.query, keep_blank_values=True)
    address = f"{request.method} {request.url.path}"
    parameters = dict(request.path_params)
    call = Call(user, parameters, query, _object(request, body), body, address)
    return route.handler(world, call)


def _object(request: Request, body: bytes) -> dict[str, Any]:
    """The JSON object that a write carries; numbers are read exactly where a shape says so."""
    if request.method in {*_READS, "DELETE"} or not body:
        return {}
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refusal(415, "INVALID_MEDIA_TYPE", "Send application/json.")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "VALIDATION_ERROR", "The body is not a JSON object.") from None


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, media_type="application/json")


async def _not_routed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = set((error.headers or {}).get("Allow", "").split(", ")) - {"HEAD"}
        message = f"Supported methods: {', '.join(sorted(allowed))}."
        return _response(Refusal(405, "METHOD_NOT_SUPPORTED", message).reply())
    return _response(Refusal(error.status_code, "NOT_FOUND", "No such address.").reply())


async def _broken(_: Request, __: Exception) -> Response:
    return _response(Refusal(500, "INTERNAL_SERVER_ERROR", "Try later.").reply())


_HANDLERS: dict[Any, ExceptionHandler] = {
    HTTPException: _not_routed,
    Exception: _broken,
}
