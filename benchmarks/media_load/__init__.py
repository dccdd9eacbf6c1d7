"""The load of `benchmarks.media`: a few hundred callers in a process of their own, and whatever answers them."""
