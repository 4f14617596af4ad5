"""The memory on several machines: one private remote that the user owns."""
