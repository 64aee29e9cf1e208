"""Worlds that are not those of the rating model, and campaigns in them under any rule.

The worlds, and what counts as wrong in them, were fixed before the rule that is to hold in them.
"""
