"""Maintenance of a workspace: doctor, inbox, watch, clones of a shared lake, data dictionary."""
