"""What does a managed API charge?"""
