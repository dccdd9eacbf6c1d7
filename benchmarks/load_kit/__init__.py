"""The parts of `benchmarks.load`: SIPp as the callers, a tap on their wire, and a ruler that reads what was tapped."""
