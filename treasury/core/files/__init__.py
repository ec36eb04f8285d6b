"""Safe reading and complete writing of files that other people may change or damage."""
