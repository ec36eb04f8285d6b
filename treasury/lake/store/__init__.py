"""The lake's files: Delta tables, Parquet, the lock, leases of readers, digests and compaction."""
