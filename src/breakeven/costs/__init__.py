"""What does an accepted result cost?"""
