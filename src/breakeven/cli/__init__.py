"""What did the user type?"""
