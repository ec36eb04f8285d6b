"""Services of the operating system: clocks, the terminal, standard error, processes."""
