"""The typed HTTP client of the finance service and the ramp service; it stores no data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.api import bodies, models
from treasury.api.codec import Record
from treasury.core.machine.loading import given_names

if TYPE_CHECKING:
    from treasury.api.client import Client
    from treasury.api.exchange.transport import CallLimits, Clock
    from treasury.api.paging import ListPage
    from treasury.api.service_calls import Reply

__all__ = ["CallLimits", "Client", "Clock", "ListPage", "Record", "Reply", "bodies", "models"]

__getattr__ = given_names(
    __name__,
    {
        "Client": "client",
        "Clock": "exchange.transport",
        "CallLimits": "exchange.transport",
        "ListPage": "paging",
        "Reply": "service_calls",
    },
)
"""Load the HTTP modules on first use, because most commands need only the record types."""
