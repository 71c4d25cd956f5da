"""What several twins take out of a crawl: Python that runs in its process before the command does."""

DOOR_ASKS_NO_PERMIT = """
from seaspider.core.urls import normalise
from seaspider.core.visits import Hop
from seaspider.permits import Clearance, Permits
Permits.take = lambda self, request: Clearance(Hop(normalise(request.url)), 10**6)
"""
