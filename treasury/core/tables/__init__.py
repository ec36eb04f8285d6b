"""Tables of results: shown in a notebook, and converted to pandas, CSV and Excel."""
