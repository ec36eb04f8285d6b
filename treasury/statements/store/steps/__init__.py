"""SQL steps that compare incoming statements and movements with stored ones."""
