"""Public peers on the load of our own benchmarks, each in an environment of its own. `catalogue` says which."""
