"""The same actions in a browser, and as JSON over HTTP."""
