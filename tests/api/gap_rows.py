"""Checks of the client, by the rows of the table of gaps in the specifications that they cover."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fake_service import Connect, HandClock, answer

from treasury.api import Client
from treasury.api.codec import decode

Check = Callable[[Connect, HandClock], None]
ROWS: dict[str, Check] = {}
"""The checks for both services, by the names of their rows."""


def row(*names: str) -> Callable[[Check], Check]:
    """Register a check under the names of its rows; a row has only one check."""

    def register(check: Check) -> Check:
        for name in names:
            assert name not in ROWS
            ROWS[name] = check
        return check

    return register


def read(model: type, **fields: Any) -> Any:
    return decode(json.dumps(fields).encode(), model, "GET /x").value


def serving(connect: Connect, result: Any, **beside: Any) -> tuple[Client, Any]:
    return connect(lambda _: answer(result, **beside))
