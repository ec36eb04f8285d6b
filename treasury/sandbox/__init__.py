"""A practice ground: both services over real HTTP, a company with a past, its banks' files.

Deterministic by seed. Made from the specification alone, and sharing no model with the client, so
that one misreading cannot pass on both sides.
"""

from treasury.sandbox.limits import RateLimit
from treasury.sandbox.server import PROFILES, Sandbox, Served, serve_forever
from treasury.sandbox.volume import Volume
from treasury.sandbox.world import SCENARIOS

__all__ = ["PROFILES", "SCENARIOS", "RateLimit", "Sandbox", "Served", "Volume", "serve_forever"]
