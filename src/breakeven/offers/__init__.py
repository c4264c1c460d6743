"""What is for rent, at what price?"""
