"""A run in which every call fails and everything about its error is printed.

The canary test runs it in a separate process.

Arguments: the service's address, and the name of the variable with the secret.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any

from fake_service import services_at
from interrupts import interrupted

from treasury.api import CallLimits, Client, Clock, bodies
from treasury.core.errors import TreasuryError
from treasury.core.settings import Credential

PARTY = bodies.NewParty(party_type="ORGANISATION", name="Harbour")


def calls(client: Client) -> list[Callable[[], Any]]:
    """Return a read, a write with a key and a plain write per kind of failure, chosen by the id."""
    ways = [
        "400", "401", "402", "403", "404", "405", "409", "415", "422", "429", "500", "503",
        "echo", "header", "malformed", "html", "cut", "drop", "redirect", "nothing", "nonsense",
    ]  # fmt: skip
    card = bodies.NewVirtualBankAccount(name="E", in_currency="EUR", target_cryptocurrency="USDC")
    made: list[Callable[[], Any]] = []
    for way in ways:
        made += [
            lambda way=way: client.finance.parties.get(way),
            lambda way=way: client.finance.virtual_bank_accounts.create(way, card),
            lambda way=way: client.ramp.requests.approve(way, version=1),
        ]
    return made


def show(*things: object) -> None:
    sys.stdout.write(" ".join(map(str, things)) + "\n")


def tell(error: BaseException, *things: object) -> None:
    """Print everything about an error that a person, a log or a debugger could see."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    show("".join(shown.format()))
    show(repr(error), str(error), error.args, vars(error), *map(repr, things))
    while error is not None:
        show(repr(error), vars(error))
        error = error.__cause__ or error.__context__


def main(base: str, variable: str) -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
    good = Credential("harbour-maker", f"env:{variable}")
    refused = Credential("refused", f"env:{variable}")
    patient = Clock(sleep=lambda _: None)
    failed = 0
    for credential, at in ((good, base), (refused, base), (good, "http://127.0.0.1:1")):
        services = services_at(at)
        with Client(services, credential, clock=patient, limits=CallLimits(attempts=2)) as client:
            show(repr(client), vars(client), repr(client._auth), vars(client._auth))
            for call in calls(client):
                try:
                    call()
                except TreasuryError as error:
                    failed += 1
                    tell(error, client, client._auth, credential.secret())
    with Client(services_at(base), good, clock=patient) as client:
        # The first interrupt stops the request for the token, the later ones the call itself.
        for call in calls(client)[:2]:
            for _ in range(2):
                if interrupt := interrupted(call):
                    tell(interrupt)
                with contextlib.suppress(TreasuryError):
                    call()
    try:
        pickle.dumps(good.secret())
    except TypeError as error:
        tell(error)
    show(f"FAILED {failed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
