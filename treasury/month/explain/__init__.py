"""The explanation of one bank line: what matching read, compared and decided, stage by stage."""
