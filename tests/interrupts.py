"""An interrupt deep in the network code, where local variables hold the bytes to send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treasury.api.exchange import network


def interrupted(call: Callable[[], Any]) -> KeyboardInterrupt | None:
    """Interrupt a call at its first bytes and return the exception; None if it sends nothing."""

    def write(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    whole = network._Stream.write
    network._Stream.write = write  # type: ignore[method-assign]
    try:
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        network._Stream.write = whole  # type: ignore[method-assign]
    return None
