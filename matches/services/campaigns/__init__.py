"""Campaigns: a question, a budget, evidence that grows, and a verdict that ends it."""
