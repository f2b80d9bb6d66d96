"""Answers: predict, discover, neighbours and why."""
