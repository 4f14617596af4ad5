"""Memory that other programs wrote, brought to the inbox.

A pure parser per format makes candidate facts of texts that were read already; `formats` finds out which format a
source has. Nothing of a source counts as the user's word until they keep it.
"""
