"""Files that people add: bank statements, wallet evidence, reference rates."""
