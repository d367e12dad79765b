"""What a lab's stacks cost: every layer of a stack, in rounds, with the bytes and the processor time it took."""
