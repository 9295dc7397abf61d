"""Execution: action plans, the controller that runs them, the executors that act (the E)."""
