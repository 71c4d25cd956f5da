"""What `scrapy demo` does, apart from the command, so that no other command has to import it."""
