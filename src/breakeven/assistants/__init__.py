"""What did an assistant ask? The same answers as tools of the Model Context Protocol."""
