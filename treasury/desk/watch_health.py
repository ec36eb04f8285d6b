"""What the doctor says of the inbox and the notices: whether folder and secrets are there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from treasury.desk.health_finding import HealthFinding
from treasury.desk.inbox import inbox_folder
from treasury.errors import SettingsError
from treasury.ground.notice_terms import InboxTerms
from treasury.settings import Settings, find_secret

__all__ = ["watch_findings"]


def watch_findings(folder: Path, settings: Settings) -> Iterator[HealthFinding]:
    """How the inbox and the notices stand, where the settings name them."""
    if settings.inbox is not None:
        yield _inbox_finding(folder, settings.inbox)
    terms = settings.notices
    if terms is None:
        return
    missing = []
    for holder, place_of_secret in terms.secret_places().items():
        try:
            secret, why = find_secret(place_of_secret, holder)
        except SettingsError as error:
            secret, why = None, error.what
        if secret is None:
            missing.append(f"{holder}: {why}")
    for problem in missing:
        yield HealthFinding("notices", "missing", problem, "set it there")
    if not missing:
        told = [*terms.people, *(f"webhook {name}" for name in terms.webhooks)]
        who = ", ".join(told) or "nobody"
        yield HealthFinding("notices", "ok", f"{who} told what is new by `treasury watch`")


def _inbox_finding(workspace: Path, terms: InboxTerms) -> HealthFinding:
    try:
        place = inbox_folder(workspace, terms)
    except SettingsError as error:
        return HealthFinding("inbox", "missing", error.what, error.do or "")
    if not place.is_dir():
        return HealthFinding(
            "inbox", "missing", f"{place} is no folder", "make it, or mount where it is"
        )
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return HealthFinding(
            "inbox", "missing", f"nothing can be moved in {place}", "let this user write there"
        )
    return HealthFinding("inbox", "ok", f"{place}; `treasury watch` reads it")
