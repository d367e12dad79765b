"""The use cases. Only this room connects the stages; every arrow between them is a value."""
