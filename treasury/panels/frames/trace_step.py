"""One payment from end to end, as a step to read and close: its hops, and a text for the provider.

Nothing is decided here. What the Copy button yields is the text of `Trace.provider_text`, which
holds nothing of our own files.
"""

from __future__ import annotations

import uuid

from treasury.panels.frames.blocks import Button, Detail, Letter, StepBlock, Text
from treasury.panels.frames.panel_text import instant
from treasury.panels.panel_desk import PanelDesk
from treasury.trace.payment_trace import GAPS, Hop, Trace

__all__ = ["trace_of", "trace_step"]


def trace_of(desk: PanelDesk, *names: str | None) -> Trace:
    """The trace of the first name that there is; raises as `trace` does."""
    return desk.trace(next(name for name in names if name))


def trace_step(trace: Trace, *, idle: bool) -> StepBlock:
    """The hops in the order of the way, what is missing marked, and what to send."""
    lines = tuple(trace.provider_text().rstrip("\n").split("\n"))
    gaps = len(trace.gaps)
    missing = "nothing is missing" if not gaps else f"{gaps} of {len(trace.hops)} hops are open"
    step = [Text(f"Next: {trace.next_step}", "strong")] if trace.next_step else []
    return StepBlock(
        key=uuid.uuid4().hex,
        title=f"Trace of {trace.asked}",
        text=f"{trace.title}: {missing}.",
        notes=tuple(step),
        facts=tuple(_fact(number, hop) for number, hop in enumerate(trace.hops, 1)),
        letter=Letter("Text for the provider", lines) if trace.hops else None,
        buttons=(Button("back", "Close", enabled=idle),),
    )


def _fact(number: int, hop: Hop) -> Detail:
    when = f"since {hop.since}" if hop.since is not None else ""
    if hop.at is not None:
        when = instant(hop.at)
    elif hop.on is not None:
        when = str(hop.on)
    state = Text(hop.state.upper(), "warn") if hop.state in GAPS else Text(hop.state, "quiet")
    lines = [Text(hop.says), state]
    lines += [Text(when, "quiet")] if when else []
    lines += [Text(hop.evidence, "code")] if hop.evidence else []
    return Detail(f"{number}. {hop.place}", tuple(lines))
