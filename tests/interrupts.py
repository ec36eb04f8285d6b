"""An interrupt in the depths of the network, where variables hold the bytes that are sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treasury.api.exchange import network


def interrupted(call: Callable[[], Any]) -> KeyboardInterrupt | None:
    """The interrupt that leaves a call when the first bytes would; None if it sends none."""

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
