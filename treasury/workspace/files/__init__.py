"""What people add from files: bank statements, evidence of wallets, reference rates."""
