"""Writes ISO 20022 messages as XML, from nested dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from lxml import etree

Tree: TypeAlias = Mapping[str, Any]
"""Type of a message's elements, in order.

A value is a text (or converted to one), an amount with its currency, a nested tree, a list of such
values for a repeated element, or None to omit the element.
"""


def iso_message(kind: str, tree: Tree) -> bytes:
    """Return a message of a kind such as `camt.053.001.08` as indented XML in UTF-8."""
    namespace = f"urn:iso:std:iso:20022:tech:xsd:{kind}"
    root = etree.Element(f"{{{namespace}}}Document", nsmap={None: namespace})
    _fill(root, tree, namespace)
    etree.indent(root)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"


def _fill(parent: etree._Element, tree: Tree, namespace: str) -> None:
    for name, value in tree.items():
        for each in value if isinstance(value, list) else [value]:
            if each is None:
                continue
            element = etree.SubElement(parent, f"{{{namespace}}}{name}")
            if isinstance(each, Mapping):
                _fill(element, each, namespace)
            elif isinstance(each, tuple):
                element.text, currency = each
                element.set("Ccy", currency)
            else:
                element.text = str(each)
