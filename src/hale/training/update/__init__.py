"""Update: tomorrow's facts for yesterday's run."""
