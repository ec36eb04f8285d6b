"""The lake's home: the place where several desks (copies of the lake) share their commits."""
