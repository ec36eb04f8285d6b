"""Which events of the services tell a status: what an event's type says about its record.

STATUS_CHANGED does not say to what; the status that we observed with the event's version does.
Source: the ramp service's event types, and `States and transitions` of its specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from treasury.lake import Events

__all__ = ["LIFECYCLES"]

LIFECYCLES: Final[Mapping[str, Events]] = MappingProxyType(
    {
        "ramp_requests": Events(
            table="ramp_request_events",
            record="ramp_request_id",
            statuses={
                "CREATED": "AWAITING_APPROVAL",
                "AWAITING_APPROVAL": "AWAITING_APPROVAL",
                "APPROVED": "AWAITING_FUNDS",
                "REJECTED": "REJECTED",
                "ADMIN_REJECTED": "DENIED",
                "CANCELLED": "CANCELLED",
                "PAYMENT_RECEIVED": "PROCESSING",
                "COMPLETED": "SUCCEEDED",
                "FAILED": "FAILED",
            },
            untold=frozenset({"STATUS_CHANGED"}),
        )
    }
)
"""By the table whose statuses they tell; every other table's are known from observation."""
