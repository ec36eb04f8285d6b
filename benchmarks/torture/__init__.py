"""Attacks on every kind of action, judged by the practice company's own ledger of effects.

    python -m benchmarks.torture [--class CLASS,…] [--sample COUNT] [--seed SEED] [--run NUMBER]

The classes:

- `kills`: the execution is cut off at every point under every fault
- `proxy`: an intermediary answers in place of the service
- `hostile`: the service sends harmful answers
- `mixups`: the service sends the answers to other requests
- `restores`, `copies`: older copies, or several copies, of a workspace execute
- `edits`: the journal is changed by hand
- `sleeps`, `frozen`: the desk's machine sleeps; its process is stopped and continued
- `forgotten`: the service has forgotten the idempotency keys
- `power-cut`: not runs, but a power cut at every moment of a sync, bank files, a pin, decisions and
  a close (`power_cut.py`)

A run depends on its class, the seed and its number only.
"""
