"""Use cases. They import only the domain; everything outside the process is behind `ports`."""
