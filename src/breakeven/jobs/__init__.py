"""What has to be done, and what counts as done?"""
