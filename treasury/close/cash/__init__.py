"""Cash: the position of every account today, and the forecast of the next days."""
