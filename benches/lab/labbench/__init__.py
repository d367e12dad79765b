"""What a lab's stacks cost: every layer of a stack, measured in rounds, with the bytes and the processor time it took."""
