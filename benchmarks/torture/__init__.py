"""Attacks on every kind of action, judged by the list of writes that took effect at the sandbox.

    python -m benchmarks.torture [--class CLASS,…] [--sample COUNT] [--seed SEED] [--run NUMBER]

The classes:

- `kills`: the process is killed at every point of an execution, under every fault
- `proxy`: an intermediary answers in place of the service
- `hostile`: the service sends harmful answers
- `mixups`: the service sends answers that belong to other requests
- `restores`, `copies`: older copies, or several copies, of a workspace execute an action
- `edits`: the journal is changed by hand
- `team`: two workspaces share a journal and execute the same action
- `sleeps`, `frozen`: the sender's machine sleeps; its process is stopped and continued
- `forgotten`: the service has forgotten the idempotency keys
- `power-cut`: a power cut at every moment of a sync, bank files, a pin, decisions and a close
  (`power_cut.py`)

A run is drawn from its class, the seed and its number. `--run` first plays the earlier runs of its
block, because they share a company.
"""
