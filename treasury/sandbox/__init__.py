"""The practice environment: both services over HTTP, and an invented company with bank files.

The seed determines everything. The code follows only the specification and shares no models with
the client, so that calls fail if one side misreads the specification.
"""

from treasury.sandbox.http.limits import RateLimit
from treasury.sandbox.serve.server import PROFILES, Sandbox, Served, serve_forever
from treasury.sandbox.story.volume import Volume
from treasury.sandbox.story.world import SCENARIOS

__all__ = ["PROFILES", "SCENARIOS", "RateLimit", "Sandbox", "Served", "Volume", "serve_forever"]
