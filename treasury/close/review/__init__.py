"""What a reviewer asks about a month: who did what, and what changed since the month before."""
