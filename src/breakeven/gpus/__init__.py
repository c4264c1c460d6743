"""What is this GPU?"""
