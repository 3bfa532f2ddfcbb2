"""The pure core: data in, signals out; no I/O, clock, thread or framework."""
