"""Which one?"""
