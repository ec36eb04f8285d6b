"""The machine under a process: its clocks, its terminal, its standard error, other processes."""
