"""The lake's home: where a team's desks share their commits, and how a desk takes part."""
