"""A sandbox on a real socket, a client for it, and comparable contents of a lake."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from treasury.api import Client, Clock
from treasury.core.settings import Credential, Service, Services
from treasury.extract import TABLES
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

NO_WAITING = Clock(sleep=lambda _seconds: None)
INSTANTS = {"valid_from", "valid_to", "observed_at", "first_seen_at"}


def services_of(served: Served) -> Services:
    return Services(
        token_url=served.token_url,
        finance=Service(served.finance_url),
        ramp=Service(served.ramp_url),
    )


def secret_file(folder: Path, sandbox: Sandbox, who: str) -> Credential:
    client_id, secret = sandbox.credentials[who]
    place = folder / f"{who}.secret"
    place.write_text(secret)
    return Credential(client_id, f"file:{place}")


def client_for(folder: Path, sandbox: Sandbox, served: Served, who: str = "maker") -> Client:
    return Client(services_of(served), secret_file(folder, sandbox, who), clock=NO_WAITING)


def lake_in(folder: Path) -> Lake:
    return Lake(folder, TABLES)


def contents(lake: Lake) -> dict[str, list[str]]:
    """Return every table's rows, sorted and without our own timestamps."""
    snapshot = lake.snapshot()
    found = {}
    for table in TABLES:
        rows = snapshot.sql(f'SELECT * FROM "{table.name}"').to_pylist()
        found[table.name] = sorted(
            repr({name: value for name, value in row.items() if name not in INSTANTS})
            for row in rows
        )
    return found


def histories(lake: Lake) -> dict[str, list[str]]:
    """Return the superseded rows of every table of records, in the form of `contents`."""
    snapshot = lake.snapshot()
    found = {}
    for table in TABLES:
        if table.records:
            rows = snapshot.sql(f'SELECT * FROM "{table.history}"').to_pylist()
            kept = ({k: v for k, v in row.items() if k not in INSTANTS} for row in rows)
            found[table.history] = sorted(map(repr, kept))
    return found


class Bare:
    """The services as a plain script reads them, without the client's code."""

    def __init__(self, sandbox: Sandbox, served: Served) -> None:
        client_id, secret = sandbox.credentials["maker"]
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        body = urllib.parse.urlencode(form).encode()
        self._token = json.loads(self._read(served.token_url, body))["access_token"]
        self._bases = {"finance": served.finance_url, "ramp": served.ramp_url}

    def get(self, service: str, path: str) -> Any:
        url = f"{self._bases[service]}{path}?page=1&size=1000&sortOn=createdAt&sortOrder=ASC"
        return json.loads(self._read(url))["result"]

    def _read(self, url: str, body: bytes | None = None) -> bytes:
        headers = {} if body else {"Authorization": f"Bearer {self._token}"}
        request = urllib.request.Request(url, body, headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            content: bytes = answer.read()
        return content
