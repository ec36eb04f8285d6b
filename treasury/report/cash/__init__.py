"""Cash in the report and as a chart."""
