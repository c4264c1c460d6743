"""The verbs: what the command line, the web page and the library do."""
