"""A decision for one environment and client is not carried out with another of either."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from action_practice import Practice, refused

from treasury.actions import Actions
from treasury.core.errors import ActionRefused
from treasury.core.settings import Credential

FINANCE = "/finance/v1"


def elsewhere(practice: Practice) -> Actions:
    """Return `Actions` on the same journal with the settings of another environment."""
    desk = msgspec.structs.replace(practice.settings.workspace, environment="staging")
    settings = msgspec.structs.replace(practice.settings, workspace=desk)
    return practice.desk("ines", settings=settings)


def renewed(practice: Practice) -> Actions:
    """Return `Actions` on the same journal with another client as the maker credential."""
    known: dict[str, Any] = dict(practice.settings.credentials)
    known["maker"] = Credential("another-client", known["maker"].client_secret)
    return practice.desk(
        "ines", settings=msgspec.structs.replace(practice.settings, credentials=known)
    )


def cut_off(practice: Practice) -> str:
    action = practice.unknown_transfer(drop="before")
    practice.sandbox.faults.clear()
    return action.id


def test_an_action_approved_for_one_environment_is_not_sent_in_another(practice: Practice) -> None:
    action = practice.transfer()
    before = practice.posts()
    said = refused(lambda: elsewhere(practice).execute(action.id))
    assert "was proposed for sandbox, and this workspace is for staging at" in said
    assert practice.posts() == before
    assert practice.ines.execute(action.id).state == "done"


def test_an_action_interrupted_in_one_environment_is_not_resent_in_another(
    practice: Practice,
) -> None:
    action = cut_off(practice)
    before = practice.posts()
    with pytest.raises(ActionRefused, match="was proposed for sandbox"):
        elsewhere(practice).recover(action)
    assert practice.posts() == before
    assert practice.ines.get(action).state == "unknown"


def test_an_action_approved_for_one_client_is_not_sent_by_another(practice: Practice) -> None:
    action = practice.transfer()
    said = refused(lambda: renewed(practice).execute(action.id))
    assert "the credential maker is another client now: nothing was sent" in said
    assert practice.ines.get(action.id).state == "ready"


def test_a_key_is_not_resent_by_a_client_that_never_had_it(practice: Practice) -> None:
    action = cut_off(practice)
    before = practice.posts()
    practice.wait()
    [left] = renewed(practice).recover(action)
    assert left.state == "unknown"
    assert "its key belongs to " in left.why
    assert practice.posts() == before
