"""All tables that a sync fills, for the lake's catalogue, and the events that imply a status.

The declarations are in `finance_tables` and `ramp_tables`, in the order of the specifications. A
STATUS_CHANGED event does not state the new status, so it is taken from the record observed at the
event's version. Source: the event types and `States and transitions` of the ramp service's
specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from treasury.extract.completeness import SYNC_FINDINGS
from treasury.extract.finance_tables import FINANCE
from treasury.extract.ramp_tables import RAMP
from treasury.lake import Events, Table

FORMS: Final = (*FINANCE, *RAMP)
SERVICE_TABLES: Final[tuple[Table, ...]] = tuple(form.table for form in FORMS)
"""The tables filled from the services."""
TABLES: Final = (*SERVICE_TABLES, SYNC_FINDINGS)

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
"""Status events by table; for other tables, only the statuses at each sync are known."""
