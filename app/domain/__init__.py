"""Pure domain: standard library only, no I/O, clock, environment or framework."""
