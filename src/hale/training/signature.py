"""train(): every setting by name. Written by scripts/write_train.py; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from hale.data.graph import Graph
from hale.runs.run import Run
from hale.settings import Settings
from hale.training.observer import Observer
from hale.training.start import train as start


def train(
    graph: Graph | str | Path | object | None,
    settings: Settings | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    observer: Observer | None = None,
    progress: bool = False,
    track: str | None = None,
    recipe: str | Path | None = None,
    model: str | None = None,
    dim: int | None = None,
    encoder: str | None = None,
    encoder_layers: int | None = None,
    bases: int | None = None,
    composition: Literal["sub", "mult", "corr"] | None = None,
    init_scale: float | None = None,
    near: float | None = None,
    group_size: int | None = None,
    similarity: Literal["l2", "dot", "hyperbolic", "projected", "network"] | None = None,
    biases: bool | None = None,
    heights: bool | None = None,
    residual: int | None = None,
    loops: bool | None = None,
    cardinality: bool | None = None,
    dropout: float | None = None,
    dropout_start: float | None = None,
    precision: Literal["float32", "float64"] | None = None,
    strategy: str | None = None,
    activation: str | None = None,
    shape: Sequence[float] | str | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    weight: float | None = None,
    alpha: float | None = None,
    queries: int | None = None,
    square: bool | None = None,
    relation_scale: bool | None = None,
    leave_out_known: bool | None = None,
    block: float | str | None = None,
    gamma_start: float | None = None,
    gamma_two_way: float | None = None,
    query_power: float | None = None,
    negatives: int | None = None,
    double_negatives: bool | None = None,
    margin: float | None = None,
    temperature: float | None = None,
    negative_weight: float | None = None,
    penalty: float | None = None,
    penalty_power: float | None = None,
    teacher: str | Path | Sequence[str | Path] | None = None,
    distillation: Literal["distile", "mulde"] | None = None,
    teacher_weight: float | None = None,
    teacher_queries: int | None = None,
    teacher_absent: float | None = None,
    teacher_top: int | None = None,
    teacher_temperature: float | None = None,
    optimizer: Literal["adam", "adagrad"] | None = None,
    learning_rate: float | None = None,
    decay: float | None = None,
    batch_size: int | None = None,
    budget: float | str | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    validate_every: int | str | None = None,
    validation_sample: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    device: Literal["auto", "cpu", "cuda", "mps"] | None = None,
    **others: object,
) -> Run:
    """Train a model on a graph and return the run in the state that validation kept.

    ``graph`` is a Graph, or whatever ``hale.load`` takes: a data set's name, a path, a frame.
    Give ``settings``, or their values by name: ``train(graph, model="rotl",
    dim=32, budget="60s")``; both mean the same, and what is not given is completed as suits the
    strategy, the model, the graph and the time (``suited``). With ``out`` the run lives in that
    folder from the first moment, nobody else may write it meanwhile, and a run that is there is
    replaced only on request (``overwrite=True``). Ctrl-C stops after the step at hand with
    everything saved; ``run.summary.stopped_by`` says so.

    ``resume=True`` goes on with the run in ``out`` after any kind of end, with
    the settings and the graph that it has; those given beside it must agree, but for ``budget``,
    ``epochs``, ``patience`` and ``threads``: another limit extends the run, whose learning rate
    is then what it would be at this point of a run with that limit.

    ``progress=True`` tells on stderr how it goes, also in a notebook. ``track`` writes losses and
    validations where TensorBoard ('tensorboard'), MLflow ('mlflow') or Weights & Biases ('wandb',
    offline) look for them; ``observer`` is told of every step and validation.

    Settings, each None unless given, then as told here; d, lambda_, lr are other words for dim,
    weight, learning_rate:

    recipe (str | Path; 'auto'): What fills in settings that are not given: auto (the graph's
        recipe, or a rule by its size), paper, none, or a file that 'hale tune' wrote.
    model (str; 'rotl'): Model; 'hale models' lists them.
    dim (int; 32): Size of an entity vector (d).
    encoder (str; the model's own, if it has one): Graph encoder that makes entity vectors of
        the training facts: rgcn, compgcn or wgcn.
    encoder_layers (int; as the encoder has it): Layers of the encoder.
    bases (int; 2): Matrices that those of relations are mixed from (rgcn).
    composition (Literal["sub", "mult", "corr"]; corr): How a relation acts on a message: sub,
        mult or corr (compgcn).
    init_scale (float; 0.1): Standard deviation of the entity vectors at the start.
    near (float; as suits the model and the strategy, in general 0.0): How near to changing
        nothing relations start: the share taken away of their turns beyond a quarter or of
        their negative factors, the identity's share in blocks.
    group_size (int; 4): Coordinates that a relation's map mixes, the k of its k x k blocks, or
        the most below that divides dim (affine).
    similarity (Literal["l2", "dot", "hyperbolic", "projected", "network"]; the model's own, or
        the one its strategy takes): How a query meets an entity, by one of the model's ways:
        l2, dot, hyperbolic, projected or network.
    biases (bool; as suits the model and the strategy): Train a bias for every head and tail
        entity.
    heights (bool; False): Train a height for every entity: a coordinate that queries have not,
        by which rare answers stand back.
    residual (int; 0): Hidden units of a network that adds to queries.
    loops (bool; True): Let an entity be an answer to a query about itself even where (almost)
        no training fact of the relation has it so.
    cardinality (bool; as suits the model and the strategy, in general False): Let entities
        stand back as answers that answer the relation for another entity already, where
        training facts say that few do twice: a rule of ranking alone.
    dropout (float; as suits the model and the strategy, in general 0.0): Share of a query's
        coordinates zeroed in training.
    dropout_start (float; as suits the model and the strategy): Dropout at the start, going to
        dropout over the run.
    precision (Literal["float32", "float64"]; 'float32'): Numbers: float32 or float64.
    strategy (str; as suits the model and the strategy, in general 'hale'): Training strategy;
        'hale strategies' lists them.
    activation (str; as suits the model and the strategy, in general 'hanon'): Activation (h):
        hanon, halin, xexp, double, arctanh, identity, or one of a free shape, sigmoid or
        spline.
    shape (Sequence[float] | str; near to hanon's): Shape of the activation: shift, slope and
        floor of a sigmoid; reach and eight rises of a spline (2.5,0,1,...).
    beta (float; 3.0): Slope of the activation, its soft constraint (β).
    gamma (float; as suits the model and the strategy, in general 6.0): Upper bound of the
        activation, its hard constraint (γ).
    weight (float; as suits the model and the strategy, in general 1.0): Weight of alignment
        against uniformity (λ in the paper).
    alpha (float; by queries): Share of a batch's queries sampled for uniformity (α).
    queries (int; 100; under hale without a recipe 200): Number of sampled queries a step, in
        place of α.
    square (bool; True): Square the activated positives (PosSquare).
    relation_scale (bool; with an activation): Train a scale per relation inside the activation
        (RelRatio, c_r).
    leave_out_known (bool; as suits the model and the strategy, in general True): Leave a
        query's known answers out of its uniformity sum.
    block (float | str; as suits the model and the strategy, in general 'all'): Entities that a
        step's sums run over, drawn in turns: a number (4096), a share (0.1) or all, as in the
        paper.
    gamma_start (float; gamma throughout): Upper bound at the start; the bounds go from there
        over the run.
    gamma_two_way (float; gamma for all): Upper bound for relations that mostly run both ways,
        in place of gamma.
    query_power (float; 0.0): Draw a query with k known answers by k to minus this power.
    negatives (int; 50): Sampled negatives a positive (samneg, advneg).
    double_negatives (bool; False): Negatives have another head too (samneg, advneg).
    margin (float; as suits the model and the strategy, in general 0.0): Added to scores before
        they are told apart (samneg, advneg).
    temperature (float; 1.0): Sharpness of the negatives' weights (advneg).
    negative_weight (float; 0.01): Weight of triples that are not positive, under the square
        loss.
    penalty (float; as suits the model and the strategy, in general 0.0): Weight of a penalty on
        the vectors that a batch uses.
    penalty_power (float; 3.0): Power of that penalty: 2, or 3 for the nuclear 3-norm.
    teacher (str | Path | Sequence[str | Path]; none): A run whose answers are learnt from; may
        be given several times.
    distillation (Literal["distile", "mulde"]; distile with one teacher, mulde with several):
        How teachers are followed: distile or mulde.
    teacher_weight (float; 1.0): Weight of the difference from the teachers.
    teacher_queries (int; 50000): Queries that the teachers answer before training begins.
    teacher_absent (float; 0.5): Share of these queries that no training fact asks.
    teacher_top (int; 16): Best answers of the teachers to each of these queries.
    teacher_temperature (float; 1.0): Softness of the distributions that are compared (mulde).
    optimizer (Literal["adam", "adagrad"]; 'adam'): Optimiser: adam or adagrad.
    learning_rate (float; as suits the model and the strategy, in general 0.01): Learning rate
        before it falls.
    decay (float; 0.4): Last share of the run over which the rate falls to zero.
    batch_size (int; as suits the model and the strategy, in general 4096): Positive triples a
        step, both directions.
    budget (float | str; 120s, without another limit): Seconds of training, validation excluded
        (60s, 10m).
    epochs (int; no limit): Passes over the training triples.
    patience (int; no limit): Validations in a row without a better MRR.
    validate_every (int | str; a tenth of the run; 5 epochs under patience alone): Time (15s) or
        number of epochs (5) between validations.
    validation_sample (int; all below 5,000, else 2,500; fewer where a budget is short):
        Validation triples ranked while training (others at its end).
    seed (int; 0): Seed of initialisation, order and sampling.
    threads (int; as PyTorch chooses): CPU threads.
    device (Literal["auto", "cpu", "cuda", "mps"]; 'auto'): auto, cpu, cuda or mps.
    """
    given = {
        name: value
        for name, value in locals().items()
        if name in Settings.model_fields and value is not None
    }
    return start(
        graph,
        settings,
        out=out,
        resume=resume,
        overwrite=overwrite,
        observer=observer,
        progress=progress,
        track=track,
        **given,
        **others,
    )
