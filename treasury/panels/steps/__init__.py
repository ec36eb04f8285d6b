"""The two steps of each decision (show it, then carry it out), independent of the screen."""
