"""The examples in the client's docstrings run against the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from doctest import DocTestFinder, DocTestRunner
from importlib import import_module

import pytest
from test_api_sandbox import Practice

from treasury.api import bodies, models
from treasury.sandbox import Sandbox

MODULES = (
    "client", "endpoints.party_endpoints", "endpoints.payment_endpoints",
    "endpoints.transfer_endpoints", "endpoints.wallet_endpoints", "paging",
    "endpoints.company_endpoints", "endpoints.reference_endpoints", "ramp_client", "resources",
    "service_calls",
)  # fmt: skip


@pytest.fixture(scope="module")
def practice() -> Iterator[Practice]:
    sandbox = Sandbox()
    with pytest.MonkeyPatch.context() as patch, sandbox.serve() as served:
        yield Practice(sandbox, served, patch)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(practice: Practice, name: str) -> None:
    module = import_module(f"treasury.api.{name}")
    names = {"bodies": bodies, "models": models}
    names |= {"client": practice.maker, "checker": practice.checker}
    tests = [t for t in DocTestFinder().find(module, extraglobs=names) if t.examples]
    runner = DocTestRunner()
    output: list[str] = []
    for test in tests:
        runner.run(test, out=output.append)
    assert not output, "".join(output)
    assert tests
