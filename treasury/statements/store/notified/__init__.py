"""Details that notifications add to a booked movement: the payments of a total, and texts."""
