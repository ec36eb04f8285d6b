"""SQL steps that compare stored records with each other."""
