"""How is it shown, in which language?"""
