"""Lecture 14: guided policy search: local models and controllers, and a policy that imitates them."""
