"""Training: the loop, its batches and optimisers; update; tune.

trainer      train() and the loop
batches      which triples a step sees
optimizers   how the parameters move
stopping     when a run ends and validates, and how the learning rate falls
checkpoint   the state that a run is resumed from
interrupt    Ctrl-C as a wish
observer     who is told how a run goes
watching     a run under the eyes of several of them
progress_line   one that writes to stderr
tracking/    some that write for TensorBoard, MLflow and Weights & Biases
start        a new run, or one that goes on
signature    the same with every setting by name, written by scripts/write_train.py
divergence   what to say when a loss is not finite
cpu_share    how much of its threads' time a piece of work has
update/      tomorrow's facts for yesterday's run
tune/        a search over settings
"""
