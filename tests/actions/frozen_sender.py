"""A process that executes an action, and stops itself by SIGSTOP just before sending.

It reads one line of JSON: `journal`, `finance`, `ramp`, `token`, `clients` and `action`. When it is
continued, it prints how the execution ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from treasury.actions import Actions
from treasury.actions.execution.sending_fence import SendingFence
from treasury.api import Client
from treasury.core.errors import TreasuryError
from treasury.core.settings import CompanySettings, Credential, Service, Services, Settings
from treasury.journal import Actor, Journal


def main() -> None:
    """Execute the action, and stop just before the fence checks its first byte."""
    given = json.loads(sys.stdin.readline())
    services = Services(
        token_url=given["token"],
        finance=Service(given["finance"]),
        ramp=Service(given["ramp"]),
    )
    settings = Settings(
        workspace=CompanySettings(company="Harbour"),
        services=services,
        credentials={n: Credential(c, f"env:TEST_{n.upper()}_SECRET") for n, c in given["clients"]},
    )
    check = SendingFence.before_bytes

    def stopped(fence: SendingFence, has_begun: bool) -> None:
        SendingFence.before_bytes = check  # type: ignore[method-assign]
        os.kill(os.getpid(), signal.SIGSTOP)
        check(fence, has_begun)

    SendingFence.before_bytes = stopped  # type: ignore[method-assign]
    journal = Journal(given["journal"])
    clients = {name: Client(services, settings.credential(name)) for name in settings.credentials}
    actor = Actor("ines", "environment", "claimed")
    desk = Actions(journal, clients.__getitem__, settings, journal.wall_clock, who=lambda: actor)
    try:
        end = desk.execute(given["action"]).state
    except TreasuryError as error:
        end = f"{type(error).__name__}: {error.what}"
    sys.stdout.write(json.dumps(end))
    for client in clients.values():
        client.close()
    journal.close()


if __name__ == "__main__":
    main()
