"""Benchmark of a large sandbox: the time to create it, and its last pages against the first.

    python -m benchmarks.sandbox [REQUESTS,TRANSFERS]

Pages are requested over HTTP, alternately; ratios are those of medians. The first request for a
later page scans the index to find where pages begin, and the next write discards the result. This
scan is measured separately.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable

import httpx

from treasury.sandbox import Sandbox, Volume

VOLUME = "1000000,2000000"
ROUNDS = 15
SIZE = 100
NEWEST = {"sortOn": "createdAt", "sortOrder": "DESC"}


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def compare(name: str, ask: Callable[[int], httpx.Response]) -> None:
    """Request the first, a middle and the last but one page, and print the times."""
    pages = ask(1).json()["pagination"]["numberOfPages"] - 1
    once = seconds(lambda: ask(pages))
    spent: dict[int, list[float]] = {page: [] for page in (1, pages // 2, pages)}
    for _ in range(ROUNDS):
        for page, taken in spent.items():
            taken.append(seconds(lambda page=page: ask(page)))
    first, middle, last = (statistics.median(taken) for taken in spent.values())
    print(
        f"{name:<34} {pages:>7,} pages  first {first * 1000:6.1f} ms"
        f"  middle {middle / first:5.2f}  last {last / first:5.2f}  scan {once * 1000:8,.0f} ms"
    )


def main(volume: Volume) -> None:
    began = time.perf_counter()
    sandbox = Sandbox(volume=volume)
    taken = time.perf_counter() - began
    records = volume.requests + volume.transfers
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{records:,} records in {taken:.1f} s: {records / taken:,.0f} a second; {peak:,.0f} MB")
    client, secret = sandbox.credentials["viewer"]
    form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
    with sandbox.serve() as served, httpx.Client(timeout=120) as http:
        token = http.post(served.token_url, data=form).json()["access_token"]
        http.headers["Authorization"] = f"Bearer {token}"

        def asking(url: str, **query: str) -> Callable[[int], httpx.Response]:
            return lambda page: http.get(url, params={"page": page, "size": SIZE, **query})

        account = http.get(f"{served.finance_url}/accounts").json()["result"][0]["id"]
        requests, accounts = f"{served.ramp_url}/ramp-requests", f"{served.finance_url}/accounts"
        compare("ramp requests", asking(requests))
        compare("ramp requests, newest first", asking(requests, **NEWEST))
        compare("ramp requests that succeeded", asking(requests, status="SUCCEEDED", **NEWEST))
        compare("transfers of an account", asking(f"{accounts}/{account}/transfers", **NEWEST))
        between = f"{served.finance_url}/account-to-account-transfers"
        compare("transfers between accounts", asking(between, **NEWEST))


if __name__ == "__main__":
    main(Volume.parse(sys.argv[1] if len(sys.argv) > 1 else VOLUME))
