"""The lake's home, where a team's desks share their commits, and a desk's access to it."""
