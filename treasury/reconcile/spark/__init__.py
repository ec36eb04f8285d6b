"""Apache Spark as the engine of the matching: a person picks it, the rows stay where they are."""
