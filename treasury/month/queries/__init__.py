"""SQL that is asked beside the steps: of a run, or of the records."""
