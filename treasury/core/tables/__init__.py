"""Tables as answers: shown in a notebook, as pandas, in CSV and in Excel."""
