"""Match bank lines to expected payments by proof: tables in, tables out."""

from treasury.matching.reference_matching import Matches, match_references
from treasury.matching.rules import ClassRule, Rules, load_rules

__all__ = ["ClassRule", "Matches", "Rules", "load_rules", "match_references"]
