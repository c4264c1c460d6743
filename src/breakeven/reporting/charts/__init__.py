"""Charts described once as data, and drawn to SVG: the same picture in the report, on the web and in a notebook."""
