"""How many parameters, bytes, FLOP?"""
