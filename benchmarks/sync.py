"""Benchmark of a sync, against plain GETs of the same pages and against dlt.

    python -m benchmarks.sync [ROWS]

One server process sends prepared bytes to all sides, so that its own time is small. dlt has its own
environment, created on the first run. Each side runs in its own process and imports its modules
before the measured time. Compared sides alternate, and medians are printed. Processor time excludes
the server.

The plain GETs use httpx as installed, with as many threads as a sync and all addresses known from
the start. A sync must request the first page alone, because only its answer has the number of
pages.
"""

from __future__ import annotations

import json
import os
import resource
import socketserver
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 200_000
LARGE = 1_000_000
SMALL = 10_000
PAGE = 1000
ROUNDS = 3
DETAILS = 20_000
OPEN = 200
CHANGED = 100
ENVIRONMENT = Path(tempfile.gettempdir()) / "treasury-benchmark-dlt"
A_DAY = 500
NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)


# The prepared service


def request_id(number: int) -> str:
    return str(UUID(int=(number * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128))


def created_at(number: int, rows: int) -> datetime:
    return NOW - timedelta(days=40) - timedelta(days=1) * (rows - number) / A_DAY


def item(number: int, rows: int) -> dict[str, Any]:
    """Return a list item; there are `A_DAY` items per day, the last one 40 days before `NOW`."""
    created = created_at(number, rows)
    return {
        "id": request_id(number),
        "paymentReference": f"PAY-2026-{number:07d}",
        "rampType": "ON_RAMP" if number % 2 else "OFF_RAMP",
        "status": "SUCCEEDED",
        "fiatAmount": 100 + number % 99991 / 100,
        "fiatCurrency": "EUR",
        "cryptoAmount": 108 + number % 999983 / 1000000,
        "cryptoCurrency": "USDC",
        "createdAt": f"{created:%Y-%m-%dT%H:%M:%S}Z",
        "createdBy": "maker@harbourlane.test",
    }


def detail(listed: dict[str, Any], number: int, version: int = 3) -> dict[str, Any]:
    chain = {"id": request_id(7), "currency": "USDC", "chain": "BASE", "label": "USD Coin"}
    events = [
        {
            "id": request_id(10**9 + number * 4 + place),
            "eventType": kind,
            "userId": request_id(5),
            "username": "maker",
            "email": "maker@harbourlane.test",
            "role": "COMPANY_MANAGER",
            "createdAt": listed["createdAt"],
            "version": place,
        }
        for place, kind in enumerate(("CREATED", "APPROVED", "COMPLETED"))
    ]
    return listed | {
        "fiatNetAmount": listed["fiatAmount"] - 1,
        "fiatFeeAmount": 1,
        "exchangeRate": 0.9231,
        "feePercentage": 0.8,
        "paymentReceived": True,
        "fiatCurrency": {"id": request_id(6), "currency": "EUR", "label": "Euro"},
        "cryptoCurrency": chain,
        "companyWallet": {"id": request_id(8), "address": "0x" + "ab" * 20, "chain": "BASE"},
        "depositBankAccount": {
            "id": request_id(9),
            "iban": "NL05TEST0417164300",
            "bic": "TESTNL2A",
            "beneficiary": "Ramp Operator BV",
        },
        "events": events,
        "version": version,
    }


def listed(rows: list[dict[str, Any]], page: int, size: int, total: int) -> bytes:
    pages = -(-total // size)
    pagination = {
        "pageNumber": page,
        "pageSize": size,
        "numberOfElements": total,
        "numberOfPages": pages,
        "hasNextPage": page < pages,
        "hasPreviousPage": page > 1,
    }
    body = {"success": True, "result": rows, "pagination": pagination, "sort": None}
    return json.dumps(body).encode()


class Prepared:
    """Prepared answers: pages of a list of `rows` requests, and details by id."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.pages: dict[int, bytes] = {}
        self.details: dict[str, bytes] = {}
        self.newest: list[dict[str, Any]] = []
        self.recent: dict[str, bytes] = {}

    def with_pages(self) -> Prepared:
        for page in range(1, self.rows // PAGE + 1):
            numbers = range((page - 1) * PAGE, page * PAGE)
            self.pages[page] = listed([item(n, self.rows) for n in numbers], page, PAGE, self.rows)
        return self

    def with_details(
        self, numbers: range, *, version: int = 3, open_from: int | None = None
    ) -> Prepared:
        for number in numbers:
            row = item(number, self.rows)
            if open_from is not None and number >= open_from:
                row["status"] = "AWAITING_FUNDS"
            body = {"success": True, "result": detail(row, number, version)}
            self.details[row["id"]] = json.dumps(body).encode()
        return self

    def with_recent(self) -> Prepared:
        """Add the newest requests, because a later sync lists the requests of the last days."""
        for number in range(self.rows - 3 * A_DAY, self.rows):
            row = item(number, self.rows)
            if number >= self.rows - OPEN:
                row["status"] = "AWAITING_FUNDS"
            self.newest.append(row)
        return self

    def since(self, day: str) -> bytes:
        if day not in self.recent:
            rows = [row for row in self.newest if row["createdAt"] >= day]
            self.recent[day] = listed(rows, 1, PAGE, len(rows))
        return self.recent[day]

    def answer(self, path: str, query: dict[str, str]) -> bytes:
        if path.endswith("/token"):
            return b'{"access_token": "prepared", "expires_in": 3000, "token_type": "Bearer"}'
        if not path.endswith("/ramp-requests"):
            return self.details[path.rpartition("/")[2]]
        if query.get("size") == "1":
            return listed([item(0, self.rows)], 1, 1, self.rows)
        if "fromDate" in query:
            return self.since(query["fromDate"])
        return self.pages[int(query.get("page", 1))]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    prepared: Prepared

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.prepared.answer(path, dict(urllib.parse.parse_qsl(query)))
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        self.wfile.write(head + body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


def serve(what: str, rows: int) -> None:
    """Prepare the answers, print the address, and serve until killed."""
    Handler.prepared = PREPARED[what](rows)
    with Server(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()


PREPARED: dict[str, Callable[[int], Prepared]] = {
    "list": lambda rows: Prepared(rows).with_pages(),
    "details": lambda rows: Prepared(rows).with_pages().with_details(range(rows)),
    "later": lambda rows: (
        Prepared(rows).with_recent().with_details(range(rows - OPEN, rows), open_from=rows - OPEN)
    ),
    "changed": lambda rows: (
        Prepared(rows)
        .with_recent()
        .with_details(range(rows - OPEN, rows), open_from=rows - OPEN)
        .with_details(range(rows - OPEN, rows, OPEN // CHANGED), version=4, open_from=rows - OPEN)
    ),
}


@contextmanager
def served(what: str, rows: int) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.sync", "--serve", what, str(rows)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


# The sides: each in its own process, with the service's address as argument


class Took(NamedTuple):
    """Wall-clock and processor seconds."""

    seconds: float
    cpu: float


class Clock:
    """A stopwatch that starts when it is created."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def took(self) -> Took:
        return Took(time.perf_counter() - self._began, time.process_time() - self._cpu)


def client_at(base: str, folder: Path) -> Any:
    from treasury.api import Client
    from treasury.core.settings import Credential, Service, Services

    (folder / "secret").write_text("prepared")
    services = Services(
        token_url=f"{base}/token",
        finance=Service(f"{base}/finance/v1"),
        ramp=Service(f"{base}/ramp/v1"),
    )
    return Client(services, Credential("benchmark", f"file:{folder / 'secret'}"))


def by_treasury(base: str, rows: int, folder: Path, *, details: int | None = 0) -> Took:
    # pyarrow imports pandas with its first array, so pandas is imported before the measured time.
    import_module("pandas")
    from treasury.extract import TABLES, Scope, sync
    from treasury.lake import Lake

    with client_at(base, folder) as client:
        clock = Clock()
        scope = Scope(tables=frozenset({"ramp_requests"}), details=details)
        report = sync(client, Lake(folder, TABLES), NOW, scope=scope)
        took = clock.took()
    new = {table.table: table.new for table in report.tables}
    assert new["ramp_requests"] == rows, report
    return took


def by_treasury_details(base: str, rows: int, folder: Path) -> Took:
    return by_treasury(base, rows, folder, details=None)


def by_gets(base: str, rows: int, folder: Path) -> Took:
    """Get every page with the same number of threads, without this project's client."""
    return _gets(
        base,
        folder,
        [
            f"/ramp-requests?page={n}&size={PAGE}&sortOn=createdAt&sortOrder=ASC"
            for n in range(1, rows // PAGE + 1)
        ],
        raw=True,
    )


def by_detail_gets(base: str, rows: int, folder: Path) -> Took:
    return _gets(base, folder, [f"/ramp-requests/{request_id(n)}" for n in range(rows)], raw=False)


def _gets(base: str, folder: Path, paths: list[str], *, raw: bool) -> Took:
    from concurrent.futures import ThreadPoolExecutor

    import httpx

    from treasury.extract.sync import WORKERS

    with client_at(base, folder) as client, httpx.Client(trust_env=False) as bare:

        def get(path: str) -> None:
            if raw:
                bare.get(f"{base}/ramp/v1{path}").raise_for_status()
            else:
                client.request(
                    "GET", "/ramp-requests/{id}", path.rpartition("/")[2], service="ramp"
                )

        clock = Clock()
        with ThreadPoolExecutor(WORKERS) as pool:
            for _ in pool.map(get, paths):
                pass
        return clock.took()


def by_dlt(base: str, rows: int, folder: Path) -> Took:
    """Load with dlt's own REST source, merging into DuckDB, as in its documentation."""
    code = DLT.format(base=base, page=PAGE, folder=str(folder))
    command = [str(_dlt_python()), "-c", code]
    quiet = os.environ | {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
    told = subprocess.run(
        command, check=True, capture_output=True, text=True, env=quiet, cwd=folder
    )
    seconds, cpu, count = json.loads(told.stdout.splitlines()[-1])
    assert count == rows, count
    return Took(seconds, cpu)


DLT = """
import json, time
import dlt
from dlt.sources.rest_api import rest_api_source
source = rest_api_source({{
    "client": {{
        "base_url": "{base}/ramp/v1/",
        "paginator": {{
            "type": "page_number", "base_page": 1, "page_param": "page",
            "total_path": "pagination.numberOfPages",
        }},
    }},
    "resources": [{{
        "name": "ramp_requests", "primary_key": "id", "write_disposition": "merge",
        "endpoint": {{
            "path": "ramp-requests", "data_selector": "result",
            "params": {{"size": {page}, "sortOn": "createdAt", "sortOrder": "ASC"}},
        }},
    }}],
}})
pipeline = dlt.pipeline("bench", destination=dlt.destinations.duckdb("{folder}/dlt.duckdb"),
                        dataset_name="ramp", pipelines_dir="{folder}/dlt")
began, cpu = time.perf_counter(), time.process_time()
pipeline.run(source)
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
with pipeline.sql_client() as sql:
    count = sql.execute_sql("SELECT count(*) FROM ramp_requests")[0][0]
print(json.dumps([seconds, cpu, count]))
"""


def _dlt_python() -> Path:
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "dlt[duckdb]"]
        subprocess.run(command, check=True, capture_output=True)
    return python


def seed(_base: str, rows: int, folder: Path) -> Took:
    """Fill a lake like a first sync with all details; older rows are copies with new ids."""
    from treasury.extract import TABLES
    from treasury.extract.ramp_tables import RAMP_REQUEST_EVENTS, RAMP_REQUESTS
    from treasury.lake import Lake

    clock = Clock()
    pattern = _seed_block(range(SMALL), rows, open_from=rows)
    with Lake(folder, TABLES).writer("seed", NOW - timedelta(hours=1)) as writer:
        for start in range(0, rows, SMALL):
            numbers = range(start, start + SMALL)
            if numbers.stop == rows:
                requests, events = _seed_block(numbers, rows, open_from=rows - OPEN)
            else:
                requests, events = _renamed(*pattern, numbers, rows)
            writer.upsert(RAMP_REQUESTS.table, requests)
            writer.upsert(RAMP_REQUEST_EVENTS.table, events)
    return clock.took()


def _seed_block(numbers: range, rows: int, *, open_from: int) -> tuple[pa.Table, pa.Table]:
    from treasury.api.models import RampRequest
    from treasury.extract.ramp_tables import RAMP_REQUEST_EVENTS, RAMP_REQUESTS, ReceivedRequest
    from treasury.extract.record_rows import rows as rows_of
    from treasury.extract.requests.request_details import events_of

    found = []
    for number in numbers:
        row = item(number, rows)
        if number >= open_from:
            row["status"] = "AWAITING_FUNDS"
        raw = json.dumps(detail(row, number)).encode()
        value = msgspec.json.decode(raw, type=RampRequest)
        found.append(
            ReceivedRequest(value=value, raw=raw, has_detail=True, listed_by=row["createdBy"])
        )
    events = (event for one in found for event in events_of(one))
    return rows_of(RAMP_REQUESTS, found), rows_of(RAMP_REQUEST_EVENTS, events)


def _renamed(
    requests: pa.Table, events: pa.Table, numbers: range, rows: int
) -> tuple[pa.Table, pa.Table]:
    """Return the same records with other ids and times."""
    names = pa.array([request_id(number) for number in numbers])
    times = pa.array([created_at(number, rows) for number in numbers], pa.timestamp("us", "UTC"))
    tails = pc.utf8_slice_codeunits(requests["raw"], len('{"id": "') + 36)
    raw = pc.binary_join_element_wise('{"id": "', names, tails, "")
    for name, column in (("id", names), ("created_at", times), ("raw", raw)):
        requests = requests.set_column(requests.column_names.index(name), name, column)
    owners = names.take(pa.array([place // 3 for place in range(events.num_rows)]))
    places = pa.array([str(place % 3) for place in range(events.num_rows)])
    own = pc.binary_join_element_wise(owners, places, "#")
    for name, column in (("id", own), ("ramp_request_id", owners)):
        events = events.set_column(events.column_names.index(name), name, column)
    return requests, events


def later(base: str, _rows: int, folder: Path, changed: int = 0) -> Took:
    import_module("pandas")  # as in `by_treasury`
    from treasury.extract import TABLES, Scope, sync
    from treasury.lake import Lake

    with client_at(base, folder) as client:
        scope = Scope(tables=frozenset({"ramp_requests"}))
        clock = Clock()
        report = sync(client, Lake(folder, TABLES), NOW, scope=scope)
        took = clock.took()
    counts = {table.table: (table.new, table.changed) for table in report.tables}
    assert counts["ramp_requests"] == (0, changed), report
    return took


def later_changed(base: str, rows: int, folder: Path) -> Took:
    return later(base, rows, folder, CHANGED)


SIDES: dict[str, Callable[[str, int, Path], Took]] = {
    "treasury": by_treasury,
    "treasury-details": by_treasury_details,
    "gets": by_gets,
    "detail-gets": by_detail_gets,
    "dlt": by_dlt,
    "seed": seed,
    "later": later,
    "later-changed": later_changed,
}


class Told(msgspec.Struct, frozen=True):
    """The measurements of a side's process; `peak` is memory in MB."""

    seconds: float
    cpu: float
    peak: float


def one(side: str, base: str, rows: int, folder: str) -> None:
    took = SIDES[side](base, rows, Path(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(msgspec.json.encode(Told(took.seconds, took.cpu, peak / 1024)).decode())


def run(side: str, base: str, rows: int, folder: Path | None = None) -> Told:
    with tempfile.TemporaryDirectory() as own:
        command = [sys.executable, "-m", "benchmarks.sync", "--side", side, base, str(rows)]
        told = subprocess.run(
            [*command, str(folder or own)], check=True, stdout=subprocess.PIPE, text=True
        )
    return msgspec.json.decode(told.stdout.splitlines()[-1], type=Told)


# The measurements


def median(told: list[Told]) -> Told:
    fields = zip(*(msgspec.structs.astuple(one) for one in told), strict=True)
    return Told(*map(statistics.median, fields))


def compare(sides: tuple[str, ...], what: str, rows: int) -> dict[str, float]:
    told: dict[str, list[Told]] = {side: [] for side in sides}
    with served(what, rows) as base:
        for _ in range(ROUNDS):
            for side in sides:
                told[side].append(run(side, base, rows))
    rates = {}
    for side in sides:
        took = median(told[side])
        rates[side] = rows / took.seconds
        print(f"  {side:<18} {took.seconds:8.2f} s  {rates[side]:10,.0f} rows/s", end="")
        print(f"  {took.cpu:6.2f} s of processor time", flush=True)
    return rates


def lists(rows: int) -> None:
    print(f"First sync of {rows:,} listed ramp requests, {PAGE:,} a page")
    rates = compare(("gets", "treasury", "dlt"), "list", rows)
    print(f"  {rates['treasury'] / rates['dlt']:.1f} times dlt (at least 10)")
    print(f"  {rates['treasury'] / rates['gets']:.2f} of the bare GETs (at least 0.20)")


def details() -> None:
    print(f"First sync of {DETAILS:,} ramp requests with their details")
    rates = compare(("detail-gets", "treasury-details"), "details", DETAILS)
    print(
        f"  {rates['treasury-details'] / rates['detail-gets']:.2f} of the bare GETs (at least 0.70)"
    )


def memory() -> None:
    with served("list", LARGE) as base:
        told = run("treasury", base, LARGE)
    print(f"First sync of {LARGE:,} listed ramp requests: {told.seconds:.1f} s", end="")
    print(f", {told.cpu:.1f} s of processor time, peak {told.peak:,.0f} MB (under 1,000)")


def quiet() -> None:
    print("A later sync of ramp requests, by the number of stored requests")
    took: dict[tuple[str, int], Told] = {}
    for rows in (SMALL, LARGE):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            run("seed", "", rows, folder)
            with served("later", rows) as same, served("changed", rows) as other:
                each = [run("later", same, rows, folder) for _ in range(2 * ROUNDS)]
                took["later", rows] = median(each)
                # Every second run reverts the changes of the run before.
                turns = [other, same] * ROUNDS
                each = [run("later-changed", base, rows, folder) for base in turns]
                took["later-changed", rows] = median(each)
            for side in ("later", "later-changed"):
                told = took[side, rows]
                print(f"  {side:<18} {rows:>9,} stored  {told.seconds:6.3f} s", end="")
                print(f"  {told.cpu:6.3f} s of processor time", flush=True)
    for side, limit in (("later", 1.5), ("later-changed", 2.0)):
        large, small = took[side, LARGE], took[side, SMALL]
        print(
            f"  {side}: {large.seconds / small.seconds:.2f} times as long (at most {limit})", end=""
        )
        print(f", {large.cpu / small.cpu:.2f} times the processor time")


def main(rows: int) -> None:
    lists(rows)
    details()
    memory()
    quiet()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--serve", what, rows]:
            serve(what, int(rows))
        case ["--side", side, base, rows, folder]:
            one(side, base, int(rows), folder)
        case [name] if name in {"lists", "details", "memory", "quiet"}:
            globals()[name](*([ROWS] if name == "lists" else []))
        case rest:
            main(int(rest[0]) if rest else ROWS)
