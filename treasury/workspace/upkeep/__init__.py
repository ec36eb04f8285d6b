"""Maintenance of a workspace: health check (doctor), inbox, watch, clones, data dictionary."""
