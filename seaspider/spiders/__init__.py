"""The one spider."""
