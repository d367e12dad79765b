"""From a stack and workloads to a plan: cells, their order, and what they will cost. Pure; nothing is opened."""
