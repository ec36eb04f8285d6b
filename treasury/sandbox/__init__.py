"""Practice environment: both services over HTTP, and an invented company with its bank files.

The seed determines everything. The code follows the specification alone and shares no model with
the client, so that a misreading of the specification by one side fails at the other.
"""

from treasury.sandbox.http.limits import RateLimit
from treasury.sandbox.serve.server import PROFILES, Sandbox, Served, serve_forever
from treasury.sandbox.story.volume import Volume
from treasury.sandbox.story.world import SCENARIOS

__all__ = ["PROFILES", "SCENARIOS", "RateLimit", "Sandbox", "Served", "Volume", "serve_forever"]
