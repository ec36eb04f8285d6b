"""The SQL steps by which stored records are held against each other."""
