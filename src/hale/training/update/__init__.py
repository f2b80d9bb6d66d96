"""Update: tomorrow's facts for yesterday's run.

updater      update(), step by step
options      how an update treats what is known
grow         a model for a larger graph that scores all it knows as before
placement    where new rows start
mixture      what its batches are made of
judging      what it did to the answers, by facts ranked before and after
withdrawal   new entities step back until the answers to old questions hold
forgetting   removed facts step down until they rank like facts that were never seen
"""
