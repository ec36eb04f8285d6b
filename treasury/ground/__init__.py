"""The ground floor that no analyst sees: files, processes, typed JSON, the terminal."""
