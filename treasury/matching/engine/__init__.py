"""Run named SQL steps: compose them, store and cache their rows, render them for other engines."""
