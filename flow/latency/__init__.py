"""Schedules, the timeline and the budget."""
