"""Training: the loop, its batches and optimisers; update; tune."""
