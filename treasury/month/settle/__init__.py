"""What closed months settled: found in a run over everything, kept, and left out of later runs.

settling    the lines and requests that a run over everything settles
changes     the terms that settled lines rest on, to compare with today's
rejoining   the settled lines and requests that take part again
"""
