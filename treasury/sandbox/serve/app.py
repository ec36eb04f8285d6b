"""The web application: both services and the token address, built from the route tables."""

from __future__ import annotations

import logging
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
from starlette.routing import Mount, Router
from starlette.routing import Route as WebRoute
from starlette.types import ExceptionHandler

from treasury.sandbox.finance import finance_routes
from treasury.sandbox.http.exchange import Call, Refusal, Reply, Route
from treasury.sandbox.ramp import ramp_routes
from treasury.sandbox.ramp.people import SCOPES
from treasury.sandbox.serve.faults import STALE
from treasury.sandbox.serve.published.openapi import FINANCE, RAMP, TOKEN
from treasury.sandbox.serve.published.openapi_page import document_routes
from treasury.sandbox.serve.tokens import Tokens
from treasury.sandbox.state.shapes import User, decode
from treasury.sandbox.story.world import World

logger: Final = logging.getLogger(__name__)
_READS: Final = ("GET", "HEAD")
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
"""Header of a 401 (RFC 6750, section 3)."""

_Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(
    world: World,
    tokens: Tokens,
    control: Iterable[WebRoute] = (),
    neighbour: Callable[[], World] | None = None,
) -> Starlette:
    """Return the application; each call holds the lock of its world (the sandbox's state).

    Users of the second company get the world that `neighbour` returns, and see only its records.
    """

    async def token(request: Request) -> Response:
        form = await request.body()
        with world.lock:
            content_type = request.headers.get("content-type", "")
            return _response(tokens.exchange(content_type, form))

    def endpoint(routes: dict[str, Route]) -> _Endpoint:
        async def serve(request: Request) -> Response:
            body = await request.body()
            user = tokens.user(request.headers.get("authorization", ""))
            company = neighbour() if neighbour and tokens.is_neighbour(user) else world
            with company.lock, company.behind(request.scope.get(STALE, 0)):
                route = routes["GET" if request.method == "HEAD" else request.method]
                reply = route.dress(_answer(company, user, route, request, body))
                return _response(reply, _CHALLENGE if reply.status == 401 else None)

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
            Mount(FINANCE, _exact(web(finance_routes.routes(world.profile)))),
            Mount(RAMP, _exact(web(ramp_routes.routes(world.profile)))),
            *control,
        ],
        exception_handlers=_HANDLERS,
    )
    app.router.redirect_slashes = False
    return app


def _exact(routes: list[WebRoute]) -> Router:
    """Return routes that match exactly, so that an address with a trailing slash is unknown."""
    return Router(routes, redirect_slashes=False)


def _answer(world: World, user: User | None, route: Route, request: Request, body: bytes) -> Reply:
    """Return the answer to a call; a refused or failed write is rolled back."""
    try:
        with nullcontext() if request.method in _READS else world.act():
            return _serve(world, user, route, request, body)
    except Refusal as refusal:
        return refusal.reply()
    # Even an error in the sandbox itself gets an answer, so that the connection stays open.
    except Exception:
        logger.exception("%s %s failed", request.method, request.url.path)
        return Refusal(500, "INTERNAL_SERVER_ERROR", "Try later.").reply()


def _serve(world: World, user: User | None, route: Route, request: Request, body: bytes) -> Reply:
    text = None if user is None else world.store.detail("user", user.id)
    user = None if text is None else decode(text, User)
    if user is None or not user.enabled:
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
    """Return the JSON object in a body; an empty one for a read or DELETE, or without a body.

    Its decimal fractions are floats; `Call.read` decodes exact amounts from the bytes.
    """
    if request.method in {*_READS, "DELETE"} or not body:
        return {}
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if media_type.strip().lower() != "application/json":
        raise Refusal(415, "INVALID_MEDIA_TYPE", "Send application/json.")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "VALIDATION_ERROR", "The body is not a JSON object.") from None


def _response(reply: Reply, headers: dict[str, str] | None = None) -> Response:
    return Response(reply.body, reply.status, headers, reply.media_type if reply.body else None)


async def _not_routed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
        methods = ", ".join(method for method in allowed if method != "HEAD")
        refusal = Refusal(405, "METHOD_NOT_SUPPORTED", f"Supported methods: {methods}.")
        return _response(refusal.reply(), {"Allow": ", ".join(allowed)})
    return _response(Refusal(error.status_code, "NOT_FOUND", "No such address.").reply())


async def _broken(_: Request, __: Exception) -> Response:
    return _response(Refusal(500, "INTERNAL_SERVER_ERROR", "Try later.").reply())


_HANDLERS: dict[Any, ExceptionHandler] = {HTTPException: _not_routed, Exception: _broken}
