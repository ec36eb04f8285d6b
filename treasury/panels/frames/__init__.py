"""The parts of every panel: blocks, pages of a query, background work, lists."""
