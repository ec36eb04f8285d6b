"""What every room uses: errors, money, calendar, outside text, settings, tables, files."""
