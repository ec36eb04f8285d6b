"""Records settled by closed months: found in a full run, stored, and left out of later runs.

settling    the lines and requests that a full run settles
changes     the terms of settled lines, to compare with the current terms
rejoining   the settled lines and requests that take part again
"""
