"""Evaluation: ranks -> metrics; validation; calibration; classification."""
