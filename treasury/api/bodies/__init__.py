"""Request bodies of both services: frozen structs that check their values when constructed."""

from treasury.api.bodies.body_base import *  # noqa: F403 - each names its classes in __all__
from treasury.api.bodies.finance_bodies import *  # noqa: F403
from treasury.api.bodies.ramp_bodies import *  # noqa: F403
