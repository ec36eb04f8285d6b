"""SQL queries that find gaps and contradictions in the stored records."""
