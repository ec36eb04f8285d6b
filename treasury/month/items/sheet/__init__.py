"""Deciding in a spreadsheet: open items as a workbook, and the decisions read from it."""
