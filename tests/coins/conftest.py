"""Desks and closings with and without measured coins, shared by tests that do not change them."""

from __future__ import annotations

import pytest
from coin_desk import agreed, copied, evidenced, policy_text

from treasury.close.closing import Closing
from treasury.workspace import Workspace

TERMS = {"EURC": ("reserves", "fifo", "none"), "USDC": ("cost", "weighted_average", "none")}


@pytest.fixture(scope="session")
def unmeasured(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk with a rate of EURC and evidence of the wallets; tests read or copy it."""
    desk = copied(month_end, tmp_path_factory.mktemp("coins") / "desk")
    path = desk.folder / "eurc.csv"
    path.write_text("day,base,quote,rate\n2026-10-30,EURC,EUR,0.9985\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", "anna")
        desk.rates.add(path)
        return evidenced(desk)


@pytest.fixture(scope="session")
def tied(unmeasured: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return that desk with a pool per wallet: EURC to reserves by FIFO, USDC at average cost.

    Each pool's quantity ties to a proved balance.
    """
    desk = copied(unmeasured, tmp_path_factory.mktemp("tied") / "desk")
    return agreed(desk, policy_text(desk, TERMS))


@pytest.fixture(scope="session")
def october(unmeasured: Workspace) -> Closing:
    """Return October's closing with evidence of the wallets and no measured coins."""
    return unmeasured.periods.month("2026-10")


@pytest.fixture(scope="session")
def october_tied(tied: Workspace) -> Closing:
    """Return October's closing with the measured coins of `tied`."""
    return tied.periods.month("2026-10")
