"""`scrapy explain`: why a URL was fetched or not, from a store alone.

Reads only (rows, evidence), judges a URL that no run has met as a run would (judgement), and puts both together
(explanation). Never asks anybody, never locks or changes the store: a crawl may be at work in it.
"""
