"""Commands that add files: bank statements, wallet evidence, reference rates."""
