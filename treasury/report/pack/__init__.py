"""The close pack: one folder, written whole, sealed by hashes, verified by computing it again."""
