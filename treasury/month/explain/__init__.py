"""Why matching decided as it did about one bank line: read by `explainer`, stage by stage."""
