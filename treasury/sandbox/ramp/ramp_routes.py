"""The ramp service's operations, each declared beside what carries it out."""

from __future__ import annotations

from typing import Final

import msgspec

from treasury.sandbox.http.exchange import Route
from treasury.sandbox.http.idempotency import once
from treasury.sandbox.ramp.company_records import COMPANY_ROUTES
from treasury.sandbox.ramp.people import PEOPLE_ROUTES
from treasury.sandbox.ramp.published_ramp import NEEDS_SCOPE, PUBLISHED
from treasury.sandbox.ramp.ramp_reference import REFERENCE_ROUTES
from treasury.sandbox.ramp.ramp_requests import REQUEST_ROUTES

__all__ = ["routes"]

_ROUTES: Final = (*PEOPLE_ROUTES, *COMPANY_ROUTES, *REQUEST_ROUTES, *REFERENCE_ROUTES)


def routes(profile: str) -> tuple[Route, ...]:
    """The operations that a profile serves; a key means nothing in the published generation."""
    if profile != "b":
        return _ROUTES
    first = [route for route in PUBLISHED if "{" not in route.path]
    return tuple(
        msgspec.structs.replace(
            route,
            handler=once(route.writes, keyed=False) if route.writes else route.handler,
            scope=NEEDS_SCOPE.get((route.method, route.path), route.scope),
        )
        for route in (*first, *_ROUTES, *(route for route in PUBLISHED if "{" in route.path))
    )
