"""Measurements, as ratios against something else in the same run."""
