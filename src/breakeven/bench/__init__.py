"""How fast is it, measured?"""
