"""memrepo: long-term memory for AI agents, kept as a git repository of Markdown that the user owns."""

__version__ = "0.1.0.dev0"
