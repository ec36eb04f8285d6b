"""Every table that a sync fills, for the lake's catalogue.

Their declarations are in `finance` and `ramp`, in the order of the specifications.
"""

from __future__ import annotations

from typing import Final

from treasury.extract.completeness import SYNC_FINDINGS
from treasury.extract.finance_tables import FINANCE
from treasury.extract.ramp_tables import RAMP
from treasury.lake import Table

__all__ = ["FORMS", "SERVICE_TABLES", "TABLES"]

FORMS: Final = (*FINANCE, *RAMP)
SERVICE_TABLES: Final[tuple[Table, ...]] = tuple(form.table for form in FORMS)
"""Those that are filled from the services."""
TABLES: Final = (*SERVICE_TABLES, SYNC_FINDINGS)
