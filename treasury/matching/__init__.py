"""Matching: which bank line is which expected payment, by proof. Tables in, tables out."""

from treasury.matching.reference_matching import Matches, match_references
from treasury.matching.rules import ClassRule, Rules, load_rules

__all__ = ["ClassRule", "Matches", "Rules", "load_rules", "match_references"]
