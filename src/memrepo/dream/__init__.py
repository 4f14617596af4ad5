"""Dreaming: one pass over memory that proposes changes, and the rules by which the user's word stays the user's.

A dream reads the memory files and what the user said in new sessions, asks a language model once (or no model at all:
`tidy`) and gets operations back. What touches only agents' lines is applied at once, in one commit that can be undone;
everything else waits on a branch for the user. The model has no tools, and nothing that it answers is trusted.
Source: memory repo design (seed 1) §10; docs/dreaming.md.
"""

from __future__ import annotations
