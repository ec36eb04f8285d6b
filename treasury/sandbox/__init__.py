"""A practice environment: both services over HTTP, a company with a past, its bank files.

It is deterministic by seed. It is written from the specification alone and shares no model with the
client, so that a misreading of the specification cannot pass on both sides.
"""

from treasury.sandbox.http.limits import RateLimit
from treasury.sandbox.serve.server import PROFILES, Sandbox, Served, serve_forever
from treasury.sandbox.story.volume import Volume
from treasury.sandbox.story.world import SCENARIOS

__all__ = ["PROFILES", "SCENARIOS", "RateLimit", "Sandbox", "Served", "Volume", "serve_forever"]
