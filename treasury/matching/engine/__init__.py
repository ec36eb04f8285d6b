"""The named SQL steps as a run: composed, kept, remembered, and rendered for other engines."""
