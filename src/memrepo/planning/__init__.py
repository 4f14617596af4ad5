"""What a write will do, decided before anything is touched: candidates and acts in, planned file changes out.

Pure but for one thing: a draft reads files through the function it is given. It writes nothing.
"""
