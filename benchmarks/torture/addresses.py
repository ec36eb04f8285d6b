"""Settings of a workspace of the practice company, in a small module for the killed processes."""

from __future__ import annotations

from typing import Final

from treasury.api import CallLimits
from treasury.core.settings import CompanySettings, Credential, Service, Services, Settings

__all__ = ["LIMITS", "settings_for"]

LIMITS: Final = CallLimits(deadline=20.0, attempts=3, first_pause=0.005, longest_pause=0.01)


def settings_for(base_url: str, client_ids: dict[str, str]) -> Settings:
    """Return the settings of a workspace that reaches the services at an address."""
    services = Services(
        token_url=f"{base_url}/oauth/token",
        finance=Service(f"{base_url}/finance/v1"),
        ramp=Service(f"{base_url}/ramp/v1"),
    )
    credentials = {
        name: Credential(client_id, f"env:TORTURE_{name.upper()}")
        for name, client_id in client_ids.items()
    }
    return Settings(
        workspace=CompanySettings(company="Torture"), services=services, credentials=credentials
    )
