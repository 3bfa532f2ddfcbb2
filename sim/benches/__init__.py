"""The benches by name, each a module with a `measure` function."""
