"""`scrapy replay`: a crawl once more from its store, without a network. Its records must come out the same.

The same parts run as in a crawl; what they meet (time, addresses, pauses, servers) is what was recorded of it.
"""
