"""A month reconciled on Spark, from the lake's files in place."""
