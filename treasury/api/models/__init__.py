"""The records of both services as frozen structs: one class per resource of the specifications."""

from treasury.api.models.finance_models import *  # noqa: F403 - each names its classes in __all__
from treasury.api.models.model_base import Model as Model
from treasury.api.models.ramp_models import *  # noqa: F403
