"""A practice ground: both services over real HTTP, a company with a past, its banks' files.

Deterministic by seed. Made from the specification alone, and sharing no model with the client, so
that one misreading cannot pass on both sides.
"""

from treasury.sandbox.http.limits import RateLimit
from treasury.sandbox.serve.server import PROFILES, Sandbox, Served, serve_forever
from treasury.sandbox.story.volume import Volume
from treasury.sandbox.story.world import SCENARIOS

__all__ = ["PROFILES", "SCENARIOS", "RateLimit", "Sandbox", "Served", "Volume", "serve_forever"]
