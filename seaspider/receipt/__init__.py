"""`scrapy receipt`: for the person who runs a host, what was asked of it, when and under which robots.txt."""
