"""The lake's files: Delta tables, Parquet, the lock, readers' leases and digests."""
