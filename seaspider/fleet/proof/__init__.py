"""`scrapy verify` of a fleet's folder: its plan, all its shards, the pauses across them, and what they were merged to.

Like seaspider.verify it stands on nothing that crawls, and holds no more than what hosts and lines of the queue take.
"""
