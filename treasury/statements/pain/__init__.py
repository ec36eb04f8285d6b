"""Answers of banks to payment files: payment status reports, pain.002."""
