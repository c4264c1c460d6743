"""What do the configurations of other tools say of a job?"""
