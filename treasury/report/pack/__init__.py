"""The close pack: one folder, written as a whole, sealed by hashes, verified by recomputation."""
