"""`python -m memrepo` is the `memrepo` program."""

from memrepo.surfaces.cli import main

if __name__ == "__main__":
    main()
