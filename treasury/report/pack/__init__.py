"""The close pack: one folder, written whole, sealed by hashes and verified by computing it again."""
