"""The close pack: the folder of a month's close, sealed by hashes and verified by recomputation."""
