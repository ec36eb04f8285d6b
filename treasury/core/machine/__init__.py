"""Operating system services: clocks, the terminal, standard error, other processes."""
