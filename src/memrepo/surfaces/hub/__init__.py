"""The Memory Hub: a local web page on which a person sees, corrects and reviews what agents know.

It holds no rule about memory. `gate` says who gets in, `server` serves, `pages` reads, `acts` writes, `showing` turns
values into what a template prints. Nothing is loaded from anywhere else, and no script or style stands in a page.
"""
