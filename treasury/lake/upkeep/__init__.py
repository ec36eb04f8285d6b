"""The lake on its disk: compaction, checks, repair, and the form that it is stored in."""
