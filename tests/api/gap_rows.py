"""The rows of the table of gaps: a check of the client under each row's own name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fake_service import Connect, HandClock, answer

from treasury.api import Client
from treasury.api.codec import decode

Check = Callable[[Connect, HandClock], None]
Rows = dict[str, Check]


def rows_in(rows: Rows) -> Callable[..., Callable[[Check], Check]]:
    """A decorator that keeps a check under the names of its rows."""

    def row(*names: str) -> Callable[[Check], Check]:
        def register(check: Check) -> Check:
            for name in names:
                assert name not in rows
                rows[name] = check
            return check

        return register

    return row


def read(model: type, **fields: Any) -> Any:
    return decode(json.dumps(fields).encode(), model, "GET /x").value


def serving(connect: Connect, result: Any, **beside: Any) -> tuple[Client, Any]:
    return connect(lambda _: answer(result, **beside))
