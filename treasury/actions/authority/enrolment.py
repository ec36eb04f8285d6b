"""Whose public key it is, written into the policy: a line below `[keys]`, the rest as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from treasury.actions.policies.policy import POLICY_FILE, load_policy, parse_policy
from treasury.core.errors import InputError, StorageError
from treasury.core.files import durable
from treasury.journal.person_names import same_name
from treasury.journal.signing import public_key

_SECTION: Final = re.compile(r"^[ \t]*\[[ \t]*keys[ \t]*\][ \t]*(#.*)?$", re.MULTILINE)


def enrol_key(folder: Path, name: str, key: str) -> None:
    """Write a person's public key into a workspace's policy.

    Raises InputError for a name or a key that is none, or that stands there already, SettingsError
    for a policy that does not read, and StorageError where it cannot be written.
    """
    name, key = name.strip(), public_key(key)
    policy = load_policy(folder)
    rules = policy.signatures
    if not name or not name.isprintable():
        raise InputError("that is nobody's name", do="give the name that their entries carry")
    if rules.owner(key) is not None:
        raise InputError(
            f"that key stands in {POLICY_FILE} as the key of {rules.owner(key)}",
            do="give each person a key of their own",
        )
    if any(same_name(name, enrolled) for enrolled in policy.keys):
        raise InputError(
            f"{name} has a key in {POLICY_FILE}",
            do='write the two as a list there, name = ["…", "…"]: what the older one signed stays'
            " provable",
        )
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    line = f'"{quoted}" = "{key}"'
    section = _SECTION.search(policy.text)
    if section is None:
        before = policy.text.rstrip("\n")
        text = f"{before}\n\n[keys]\n{line}\n" if before else f"[keys]\n{line}\n"
    else:
        text = f"{policy.text[: section.end()]}\n{line}{policy.text[section.end() :]}"
    path = folder / POLICY_FILE
    if parse_policy(text, path).keys != {**policy.keys, name: key}:
        raise InputError(f"{path} has an unusual [keys]", do=f"write into it by hand: {line}")
    try:
        durable.write_whole(path, text.encode())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}", do="make the workspace writable"
        ) from error
