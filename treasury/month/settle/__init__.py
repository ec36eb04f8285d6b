"""Settled records: lines and requests of closed months that later runs need not match again.

settling    the lines and requests that are settled, found in a run over all records
changes     the terms of settled lines, to compare with the current terms
rejoining   the settled lines and requests that must be matched again
"""
