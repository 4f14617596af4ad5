"""The names under which an export carries what a store holds. Loads no database library."""

SHELF_NAMES = ("facts", "commitments", "forgotten", "archive", "pending", "events")
