"""What every room stands on and no analyst sees: files, processes, typed JSON, the terminal."""
