"""Details that notifications add to booked movements: single payments of a total, and texts."""
