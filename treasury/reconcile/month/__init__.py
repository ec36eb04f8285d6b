"""The SQL steps from the lake to a month's answers; `treasury.reconcile.monthly` orders them."""
