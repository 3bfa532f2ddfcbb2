"""The benches of what serves, by name, each a module with a `measure` function."""
