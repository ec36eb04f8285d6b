"""What a bank answers to a payment file: payment status reports, pain.002."""
