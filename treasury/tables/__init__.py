"""What every answer made of tables does: show itself, become pandas, go to CSV and Excel."""
