"""The policy limits who may propose and approve an action, its amount, and the people needed."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from action_practice import TREASURY, Practice, refused, request_fields, transfer_fields

from treasury.actions import KINDS, POLICY_FILE, AssetAmount, load_policy
from treasury.actions.policies.policy import CARRY, CLOSE
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.journal import Actor
from treasury.journal.person_names import same_person

PAGE = Path(__file__).parents[2] / "docs/actions.md"
RULE = "[[rules]]\nkinds = "


def write(folder: Path, text: str) -> None:
    (folder / POLICY_FILE).write_text(text, "utf-8")


def propose(practice: Practice, amount: str = "10.00", person: str = "ines") -> str:
    return practice.desk(person).propose("crypto_transfer.create", **transfer_fields(amount)).id


def documented_kinds() -> dict[str, tuple[str, str]]:
    """Return the last two cells of each kind in the table of `docs/actions.md`."""
    section = PAGE.read_text("utf-8").partition("\n## The kinds\n")[2]
    kinds = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            _, names, _, sent_again, two_people, _ = line.split("|")
            subject = ""
            for name in re.findall("`([^`]+)`", names):
                # `.delete` shortens the name of another kind of the same subject.
                subject = subject if name.startswith(".") else name.partition(".")[0]
                full = subject + name if name.startswith(".") else name
                kinds[full] = (sent_again.strip(), two_people.strip())
    return kinds


def test_actions_that_move_money_need_a_second_person_by_default() -> None:
    policy = load_policy(Path("/nowhere"))
    # A ramp request moves no money until someone other than its maker approves it.
    needs = {
        name
        for name, kind in KINDS.items()
        if policy.people(kind, None) == 2 or kind.decides_on_maker
    }
    documented = documented_kinds()
    assert needs == {name for name, (_, two) in documented.items() if two.startswith("yes")}
    again = {"keyed": "by its key", "versioned": "by its version", "neither": "never"}
    assert {name: again[kind.safety] for name, kind in KINDS.items()} == {
        name: sent_again for name, (sent_again, _) in documented.items()
    }


def test_the_maker_is_never_the_checker_in_any_spelling_of_the_name(practice: Practice) -> None:
    action = propose(practice)
    for name in ("ines", "Ines", " INES ", "ｉｎｅｓ"):
        assert "never the checker" in refused(lambda n=name: practice.desk(n).approve(action))
    assert practice.jonas.approve(action)[0].state == "ready"
    assert not same_person("ines", "inès")


def test_a_small_amount_needs_one_person_and_a_large_one_two(practice: Practice) -> None:
    write(practice.folder, '[[rules]]\nkinds = ["*"]\ntwo_people_from = {USDC = "100.00"}\n')
    assert practice.ines.get(propose(practice, "99.99")).state == "ready"
    assert practice.ines.get(propose(practice, "100.00")).state == "proposed"
    euros: dict[str, Any] = {
        "sender_account_id": TREASURY,
        "receiver_external_id": "ops-usd",
        "currency": "EUR",
    }
    action = practice.ines.propose("fiat_transfer.create", amount="0.01", **euros)
    # The rule does not name EUR, so two people are needed.
    assert (action.state, action.needed) == ("proposed", 2)


def test_three_people_must_approve_if_the_policy_requires_three(practice: Practice) -> None:
    write(practice.folder, '[[rules]]\nkinds = ["crypto_transfer.*"]\npeople = 3\n')
    action = propose(practice)
    [after_one] = practice.jonas.approve(action)
    assert (after_one.state, after_one.waits_for) == ("proposed", 1)
    assert "has already agreed to A-1" in refused(lambda: practice.jonas.approve(action))
    assert "waits for 1 more" in refused(lambda: practice.ines.execute(action))
    [ready] = practice.desk("nora").approve(action)
    assert (ready.state, ready.people) == ("ready", ("ines", "jonas", "nora"))


def test_the_policy_names_who_may_propose_and_approve(practice: Practice) -> None:
    write(
        practice.folder,
        '[[rules]]\nkinds = ["crypto_transfer.create"]\npropose = ["ines"]\napprove = ["nora"]\n',
    )
    assert "jonas may not propose crypto_transfer.create" in refused(
        lambda: propose(practice, person="jonas")
    )
    action = propose(practice)
    said = refused(lambda: practice.jonas.approve(action))
    assert said == "jonas may not approve crypto_transfer.create: nothing was decided - ask nora"
    assert "may not approve" in refused(lambda: practice.jonas.reject(action, "no"))
    assert practice.desk("nora").approve(action)[0].state == "ready"


def test_limits_apply_per_amount_and_per_day(practice: Practice) -> None:
    write(
        practice.folder,
        '[[rules]]\nkinds = ["crypto_transfer.create", "payment_request.create"]\n'
        'at_most = {USDC = 50, EUR = 5}\nper_day = {USDC = "70.00", EUR = 5}\n',
    )
    assert "USDC 50.010000 is more than a person may propose" in refused(
        lambda: propose(practice, "50.01")
    )
    first, second, third = (propose(practice, amount) for amount in ("40", "30.01", "30.00"))
    practice.jonas.approve(first)
    said = refused(lambda: practice.jonas.approve(second))
    assert "USDC 70.010000 is more than a person may approve in a day: USDC 70.000000" in said
    assert practice.jonas.approve(third)[0].state == "ready"
    # Each person has their own daily limit.
    assert practice.desk("nora").approve(second)[0].state == "ready"


def test_a_batch_counts_as_a_whole_against_the_daily_limit(practice: Practice) -> None:
    write(practice.folder, '[[rules]]\nkinds = ["*"]\nper_day = {USDC = 70}\n')
    write_again = [propose(practice, "40"), propose(practice, "31")]
    assert "in a day" in refused(lambda: practice.jonas.approve(*write_again))
    assert {practice.ines.get(one).state for one in write_again} == {"proposed"}


def test_a_one_person_workspace_is_marked_as_such(practice: Practice) -> None:
    write(practice.folder, "one_person = true\n")
    action = practice.ines.get(propose(practice))
    assert action.state == "ready"
    assert "This workspace has one person: no second person approves it." in action.text
    done = practice.ines.execute(action.id)
    assert done.people == ("ines",)
    made = practice.ines.execute(
        practice.ines.propose("ramp_request.create", **request_fields()).id
    )
    assert made.outcome is not None
    mine = practice.ines.propose("ramp_request.approve", request_id=made.outcome.record)
    assert practice.ines.execute(mine.id).state == "done"


def test_a_stricter_policy_holds_actions_approved_before(practice: Practice) -> None:
    action = propose(practice)
    practice.jonas.approve(action)
    write(practice.folder, '[[rules]]\nkinds = ["*"]\npeople = 3\n')
    assert "2 people agreed to it, and the policy now requires 3" in refused(
        lambda: practice.ines.execute(action)
    )
    assert practice.posts() == []


def test_the_policy_can_require_an_identity_level(practice: Practice) -> None:
    write(practice.folder, 'identified_by = ["hub"]\n')
    assert "identified by the environment only" in refused(lambda: propose(practice))
    assert Actor("ines", "hub").source in load_policy(practice.folder).sources


def test_each_decision_names_its_policy_and_the_journal_holds_its_text(practice: Practice) -> None:
    action = propose(practice)
    text = '[[rules]]\nkinds = ["party.delete"]\n'
    write(practice.folder, text)
    practice.jonas.approve(action)
    saved = {e.subject: e.body["content"] for e in practice.journal.entries("policy.saved")}
    assert sorted(saved.values()) == ["", text]
    proposed, approved = practice.journal.entries("action.")
    assert saved[proposed.body["policy"]] == ""
    assert saved[approved.body["policy"]] == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one_person = 1", "one_person"),
        ('[[rules]]\nkinds = ["*"]\nper_day = {EUR = "lots"}', "per_day.EUR"),
        ('[[rules]]\nkinds = ["*"]\nlimit = 5', "limit"),
        ("[[rules]]\npeople = 2", "kinds"),
        ("[[rules]", "policy.toml"),
        ('text = "x"', "text"),
    ],
)
def test_an_invalid_policy_names_the_key_and_stops_every_decision(
    practice: Practice, text: str, said: str
) -> None:
    write(practice.folder, text)
    with pytest.raises(SettingsError, match=said):
        propose(practice)
    assert practice.kinds() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{RULE}[\n "*",\n "crypto_transfers.*",\n]', "line 5: .*is it crypto_transfer[.]"),
        (f'{RULE}["ramp_request.aprove"]', "line 2: .*is it ramp_request.approve"),
        (f"{RULE}[]", "line 2: .*kinds"),
        (f'{RULE}["*"]\n\npeople = 0', r"line 4: Expected `int` >= 1.*rules\[0\].people"),
        (f'{RULE}["*"]\npeeple = 2', "line 3: .*unknown field `peeple`"),
        (f'{RULE}["*"]\nat_most = {{USDC = 1, EUR = -5}}', "line 3: .*EUR: -5 is below zero"),
        (f'{RULE}["*"]\n[rules.per_day]\nEUR = "-0.01"', "line 4: .*is below zero"),
        ("[materiality.EUR]\nitem = 1\ntotal = -2", r"line 3: .*EUR\.total: -2 is below"),
        ("[recovery]\nsettling_seconds = -1", "line 2: .*settling_seconds"),
        ("recovery.key_retention_hours = 99999999", "line 1: .*key_retention_hours"),
        ("signed = true\nsigned_after = -3", "line 2: .*signed_after"),
        ('identified_by = ["hubb"]', "line 1: .*hubb"),
        (f"a = {'[' * 5000}{']' * 5000}", "it is nested too deeply"),
        (f"[a{'.a' * 5000}]", "it is nested too deeply"),
    ],
)  # fmt: skip
def test_an_unusable_policy_is_refused_with_the_line_or_the_reason(
    tmp_path: Path, text: str, said: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(SettingsError, match=rf"policy\.toml: {said}"):
        load_policy(tmp_path)


def test_amounts_of_the_file_are_exact(tmp_path: Path) -> None:
    write(tmp_path, '[[rules]]\nkinds = ["*"]\nat_most = {USDC = 0.1, EUR = "0.30", USD = 7}\n')
    [rule] = load_policy(tmp_path).rules
    assert rule.at_most == {"USDC": Decimal("0.1"), "EUR": Decimal("0.30"), "USD": Decimal(7)}


def test_a_currency_without_a_limit_is_not_allowed(tmp_path: Path) -> None:
    write(tmp_path, '[[rules]]\nkinds = ["*"]\nat_most = {EUR = 5}\n')
    policy = load_policy(tmp_path)
    kind = KINDS["crypto_transfer.create"]
    said = refused(
        lambda: policy.check(
            "approve", kind, AssetAmount("USDC", Decimal(1)), Actor("a", "hub"), ()
        )
    )
    assert "USDC 1.000000 is more than" in said


def test_rejections_and_withdrawals_need_a_reason_and_are_final(practice: Practice) -> None:
    one, two = propose(practice, "1"), propose(practice, "2")
    with pytest.raises(InputError, match="reason: is missing"):
        practice.jonas.reject(one, "")
    assert practice.jonas.reject(one, "wrong receiver").why == "wrong receiver"
    assert "ines proposed A-2, not jonas" in refused(lambda: practice.jonas.withdraw(two))
    assert practice.ines.withdraw(two, "not yet").state == "withdrawn"
    for one_of in (one, two):
        assert "nothing was" in refused(lambda i=one_of: practice.jonas.approve(i))
        assert "nothing was sent" in refused(lambda i=one_of: practice.ines.execute(i))
    with pytest.raises(InputError, match="there is no action A-9"):
        practice.ines.get("A-9")


def test_a_proposal_that_looks_like_another_is_reported(practice: Practice) -> None:
    propose(practice)
    again = practice.ines.get(propose(practice))
    assert "LOOK: the same as A-1, which is proposed." in again.text
    other = practice.ines.get(propose(practice, "10.01"))
    assert "LOOK" not in other.text


def test_decisions_by_one_person_count_against_the_daily_limit(practice: Practice) -> None:
    write(
        practice.folder,
        '[[rules]]\nkinds = ["crypto_transfer.create"]\ntwo_people_from = {USDC = 50}\n'
        "per_day = {USDC = 70}\n",
    )
    assert practice.ines.get(propose(practice, "40")).state == "ready"
    assert "USDC 80.000000 is more than a person may propose in a day" in refused(
        lambda: propose(practice, "40")
    )
    drafted = [
        practice.ines.draft("crypto_transfer.create", **transfer_fields(a)) for a in ("20", "21")
    ]
    assert "in a day" in refused(lambda: practice.ines.propose_drafts(*drafted))
    assert len(practice.ines.list()) == 1
    practice.ines.withdraw("A-1", "not wanted")
    assert len(practice.ines.propose_drafts(*drafted)) == 2
    # Each person has their own daily limit.
    assert propose(practice, "40", person="jonas") == "A-4"


def test_a_rule_for_carrying_or_closing_must_name_it_and_cannot_change_the_number_of_people(
    tmp_path: Path,
) -> None:
    write(tmp_path, '[[rules]]\nkinds = ["*"]\nat_most = {EUR = "1.00"}\napprove = ["nora"]\n')
    euros = AssetAmount("EUR", Decimal(500))
    ines = Actor("ines", "environment")
    load_policy(tmp_path).check("approve", CARRY, euros, ines, ())
    write(tmp_path, RULE + '["month.*"]\nat_most = {EUR = "499.99"}\napprove = ["ines", "nora"]\n')
    load_policy(tmp_path).check("approve", CARRY, euros, ines, ())
    with pytest.raises(ActionRefused, match=r"EUR 500\.00 is more than a person may") as refusal:
        load_policy(tmp_path).check("approve", CLOSE, euros, ines, ())
    assert "month.close: EUR 499.99" in str(refusal.value)
    assert "the limit holds for ines and nora" in str(refusal.value)
    dollars = AssetAmount("USDC", Decimal("0.01"))
    with pytest.raises(ActionRefused, match=r"USDC 0\.010000 is more .* USDC 0\.000000"):
        load_policy(tmp_path).check("approve", CLOSE, dollars, ines, ())
    with pytest.raises(ActionRefused, match=r"bert may not approve month\.close.*ines or nora"):
        load_policy(tmp_path).check("approve", CLOSE, None, Actor("bert", "environment"), ())
    for key in ("people = 3", 'two_people_from = {EUR = "1.00"}', 'per_day = {EUR = "1.00"}'):
        write(tmp_path, f'{RULE}["month.close"]\n{key}\n')
        with pytest.raises(SettingsError, match=r"line 3: .* has no effect on month\.close"):
            load_policy(tmp_path)
    write(tmp_path, f'{RULE}["item.carri"]\n')
    with pytest.raises(SettingsError, match=r"item\.carry"):
        load_policy(tmp_path)


def test_a_daily_limit_names_who_may_decide_instead(tmp_path: Path) -> None:
    write(tmp_path, RULE + '["item.carry"]\nper_day = {EUR = "9.00"}\napprove = ["ines", "nora"]\n')
    spent = [AssetAmount("EUR", Decimal(6))]
    euros = AssetAmount("EUR", Decimal("3.01"))
    policy = load_policy(tmp_path)
    with pytest.raises(
        ActionRefused, match=r"EUR 9\.01 is more than a person may approve in a day"
    ) as refusal:
        policy.check("approve", CARRY, euros, Actor("ines", "environment"), spent)
    assert "EUR 9.00; nothing was decided" in str(refusal.value)
    assert "decided by nora, or wait until tomorrow" in str(refusal.value)
