"""Records settled by closed months: found in a full run, stored, and left out of later runs."""
