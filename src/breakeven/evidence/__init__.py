"""What has been measured, by whom, when?"""
