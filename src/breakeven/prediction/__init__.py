"""Does it fit, and how long should it take?"""
