"""Attacks on every kind of action, judged by the practice company's own ledger of effects.

    python -m benchmarks.torture [--class CLASS,…] [--sample COUNT] [--seed SEED] [--run NUMBER]

`kills` cuts the execution off at every point under every fault; `proxy` answers in the service's
place; `hostile` is a service with harmful answers; `mixups` gives the answers to other requests;
`restores` and `copies` execute from older and from several copies of a workspace; `edits` changes
the journal by hand; `sleeps` has the desk's machine sleep, `frozen` stops its process and continues
it, and in `forgotten` the service does not know its keys any more. A run is drawn
from its class, the seed and its number, and nothing else. `power-cut` has no runs: it cuts the
power at every moment of a sync, bank files, a pin, decisions and a close (`power_cut.py`).
"""
