"""The SQL steps of matching; `treasury.reconcile.matching` says in which order they run."""
