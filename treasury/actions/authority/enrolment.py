"""Adds a person's public key to the policy, as one line below `[keys]`."""

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

    The rest of the file does not change. Raise InputError if the name or key is invalid or already
    in the policy, SettingsError if the policy is invalid, and StorageError if the file cannot be
    written.
    """
    name, key = name.strip(), public_key(key)
    policy = load_policy(folder)
    rules = policy.signatures
    if not name or not name.isprintable():
        raise InputError(
            "the name is empty or not printable", do="give the name in this person's entries"
        )
    if rules.owner(key) is not None:
        raise InputError(
            f"that key is already in {POLICY_FILE}, as the key of {rules.owner(key)}",
            do="give each person a key of their own",
        )
    if any(same_name(name, enrolled) for enrolled in policy.keys):
        raise InputError(
            f"{name} already has a key in {POLICY_FILE}",
            do='write both as a list there, name = ["…", "…"], so that earlier signatures'
            " stay provable",
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
        raise InputError(f"{path} has an unusual [keys] table", do=f"add by hand: {line}")
    try:
        durable.write_whole(path, text.encode())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}", do="make the workspace writable"
        ) from error
