"""Settings of a training run: one frozen object, all faults reported together."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from hale.settings.flags import BY_SYSTEM, Flags
from hale.settings.frozen import Frozen
from hale.settings.values import (
    Duration,
    Interval,
    as_text,
    numbers,
    parse_block,
    path_as_text,
    paths_as_texts,
)

DEFAULT_BUDGET_SECONDS = 120.0
DEFAULT_QUERIES = 100
# A system refuses to start many more, and OpenMP ends the process then. It is the same on all
# machines, so that a run can be read on another one.
MOST_THREADS = 1024


class Settings(Frozen):
    """All that decides a training run, with the paper's symbol where it has one.

    A run stops at the first of ``budget`` (seconds of training), ``epochs`` and
    ``patience`` that is reached; with none of them given, after two minutes.
    """

    # Told by name: the system and what ends the run.
    shown: ClassVar[tuple[str, ...]] = ("model", "dim", "strategy", "budget", "epochs", "patience")

    recipe: Annotated[str, BeforeValidator(path_as_text)] = Field(
        "auto",
        description="What fills in settings that are not given: auto (the graph's recipe, or a "
        "rule by its size), paper, none, or a file that 'hale tune' wrote.",
    )

    # The model
    model: str = Field("rotl", description="Model; 'hale models' lists them.")
    dim: Annotated[int, Flags(("--dim", "-d"))] = Field(
        32, ge=1, description="Size of an entity vector (d)."
    )
    encoder: Annotated[str | None, Flags(unset="the model's own, if it has one")] = Field(
        None,
        description="Graph encoder that makes entity vectors of the training facts: rgcn, compgcn "
        "or wgcn.",
    )
    encoder_layers: Annotated[int | None, Flags(unset="as the encoder has it")] = Field(
        None, ge=1, description="Layers of the encoder."
    )
    bases: Annotated[int | None, Flags(unset="2")] = Field(
        None, ge=1, description="Matrices that those of relations are mixed from (rgcn)."
    )
    composition: Annotated[Literal["sub", "mult", "corr"] | None, Flags(unset="corr")] = Field(
        None, description="How a relation acts on a message: sub, mult or corr (compgcn)."
    )
    init_scale: float = Field(
        0.1, gt=0, description="Standard deviation of the entity vectors at the start."
    )
    near: Annotated[float, Flags(unset=BY_SYSTEM)] = Field(
        0.0,
        ge=0,
        le=1,
        description="How near to changing nothing relations start: the share taken away of their "
        "turns beyond a quarter or of their negative factors, the identity's share in blocks.",
    )
    group_size: int = Field(
        4,
        ge=1,
        description="Coordinates that a relation's map mixes, the k of its k x k blocks, or the "
        "most below that divides dim (affine).",
    )
    similarity: Annotated[
        Literal["l2", "dot", "hyperbolic", "projected", "network"] | None,
        Flags(unset="the model's own, or the one its strategy takes"),
    ] = Field(
        None,
        description="How a query meets an entity, by one of the model's ways: l2, dot, hyperbolic, "
        "projected or network.",
    )
    biases: Annotated[bool | None, Flags(unset=BY_SYSTEM)] = Field(
        None, description="Train a bias for every head and tail entity."
    )
    heights: bool = Field(
        False,
        description="Train a height for every entity: a coordinate that queries have not, "
        "by which rare answers stand back.",
    )
    residual: int = Field(0, ge=0, description="Hidden units of a network that adds to queries.")
    loops: bool = Field(
        True,
        description="Let an entity be an answer to a query about itself even where (almost) no "
        "training fact of the relation has it so.",
    )
    cardinality: Annotated[bool, Flags(unset=BY_SYSTEM)] = Field(
        False,
        description="Let entities stand back as answers that answer the relation for another "
        "entity already, where training facts say that few do twice: a rule of ranking alone.",
    )
    dropout: Annotated[float, Flags(unset=BY_SYSTEM)] = Field(
        0.0, ge=0, lt=1, description="Share of a query's coordinates zeroed in training."
    )
    dropout_start: Annotated[float | None, Flags(unset=BY_SYSTEM)] = Field(
        None, ge=0, lt=1, description="Dropout at the start, going to dropout over the run."
    )
    precision: Literal["float32", "float64"] = Field(
        "float32", description="Numbers: float32 or float64."
    )

    # The objective
    strategy: Annotated[str, Flags(unset=BY_SYSTEM)] = Field(
        "hale", description="Training strategy; 'hale strategies' lists them."
    )
    activation: Annotated[str, Flags(unset=BY_SYSTEM)] = Field(
        "hanon",
        description="Activation (h): hanon, halin, xexp, double, arctanh, identity, or one of a "
        "free shape, sigmoid or spline.",
    )
    shape: Annotated[
        tuple[float, ...], BeforeValidator(numbers), Flags(unset="near to hanon's")
    ] = Field(
        (),
        description="Shape of the activation: shift, slope and floor of a sigmoid; reach and eight "
        "rises of a spline (2.5,0,1,...).",
    )
    beta: float = Field(3.0, gt=0, description="Slope of the activation, its soft constraint (β).")
    gamma: Annotated[float, Flags(unset=BY_SYSTEM)] = Field(
        6.0, gt=0, description="Upper bound of the activation, its hard constraint (γ)."
    )
    weight: Annotated[float, Flags(("--lambda",), unset=BY_SYSTEM)] = Field(
        1.0, ge=0, description="Weight of alignment against uniformity (λ in the paper)."
    )
    alpha: Annotated[float | None, Flags(unset="by --queries")] = Field(
        None, gt=0, le=1, description="Share of a batch's queries sampled for uniformity (α)."
    )
    queries: Annotated[
        int | None, Flags(unset=f"{DEFAULT_QUERIES}; under hale without a recipe 200")
    ] = Field(None, ge=1, description="Number of sampled queries a step, in place of α.")
    square: bool = Field(True, description="Square the activated positives (PosSquare).")
    relation_scale: Annotated[bool, Flags(unset="with an activation")] = Field(
        True, description="Train a scale per relation inside the activation (RelRatio, c_r)."
    )
    leave_out_known: Annotated[
        bool, Flags(("--leave-out-known/--keep-known",), unset=BY_SYSTEM)
    ] = Field(
        True,
        description="Leave a query's known answers out of its uniformity sum.",
    )

    block: Annotated[
        int | float | Literal["all"], BeforeValidator(parse_block), Flags(unset=BY_SYSTEM)
    ] = Field(
        "all",
        description="Entities that a step's sums run over, drawn in turns: a number (4096), a "
        "share (0.1) or all, as in the paper.",
    )
    gamma_start: Annotated[float | None, Flags(unset="gamma throughout")] = Field(
        None, gt=0, description="Upper bound at the start; the bounds go from there over the run."
    )
    gamma_two_way: Annotated[float | None, Flags(unset="gamma for all")] = Field(
        None,
        gt=0,
        description="Upper bound for relations that mostly run both ways, in place of gamma.",
    )
    query_power: float = Field(
        0.0, ge=0, le=1, description="Draw a query with k known answers by k to minus this power."
    )
    negatives: int = Field(50, ge=1, description="Sampled negatives a positive (samneg, advneg).")
    double_negatives: bool = Field(
        False, description="Negatives have another head too (samneg, advneg)."
    )
    margin: Annotated[float, Flags(unset=BY_SYSTEM)] = Field(
        0.0, description="Added to scores before they are told apart (samneg, advneg)."
    )
    temperature: float = Field(
        1.0, ge=0, description="Sharpness of the negatives' weights (advneg)."
    )
    negative_weight: float = Field(
        0.01,
        gt=0,
        le=1,
        description="Weight of triples that are not positive, under the square loss.",
    )
    penalty: Annotated[float, Flags(unset=BY_SYSTEM)] = Field(
        0.0, ge=0, description="Weight of a penalty on the vectors that a batch uses."
    )
    penalty_power: float = Field(
        3.0, ge=1, description="Power of that penalty: 2, or 3 for the nuclear 3-norm."
    )

    # What teachers add to it
    teacher: Annotated[tuple[str, ...], BeforeValidator(paths_as_texts), Flags(unset="none")] = (
        Field((), description="A run whose answers are learnt from; may be given several times.")
    )
    distillation: Annotated[
        Literal["distile", "mulde"] | None,
        Flags(unset="distile with one teacher, mulde with several"),
    ] = Field(None, description="How teachers are followed: distile or mulde.")
    teacher_weight: float = Field(
        1.0, ge=0, description="Weight of the difference from the teachers."
    )
    teacher_queries: int = Field(
        50_000, ge=1, description="Queries that the teachers answer before training begins."
    )
    teacher_absent: float = Field(
        0.5, ge=0, le=1, description="Share of these queries that no training fact asks."
    )
    teacher_top: int = Field(
        16, ge=2, description="Best answers of the teachers to each of these queries."
    )
    teacher_temperature: float = Field(
        1.0, gt=0, description="Softness of the distributions that are compared (mulde)."
    )

    # The optimiser
    optimizer: Literal["adam", "adagrad"] = Field("adam", description="Optimiser: adam or adagrad.")
    learning_rate: Annotated[float, Flags(("--learning-rate", "--lr"), unset=BY_SYSTEM)] = Field(
        0.01, gt=0, description="Learning rate before it falls."
    )
    decay: float = Field(
        0.4, ge=0, le=1, description="Last share of the run over which the rate falls to zero."
    )
    batch_size: Annotated[int, Flags(unset=BY_SYSTEM)] = Field(
        4096, ge=1, description="Positive triples a step, both directions."
    )

    # When to stop, when to look
    budget: Annotated[
        Duration | None,
        Flags(unset=f"{DEFAULT_BUDGET_SECONDS:.0f}s, without another limit"),
    ] = Field(None, gt=0, description="Seconds of training, validation excluded (60s, 10m).")
    epochs: Annotated[int | None, Flags(unset="no limit")] = Field(
        None, ge=1, description="Passes over the training triples."
    )
    patience: Annotated[int | None, Flags(unset="no limit")] = Field(
        None, ge=1, description="Validations in a row without a better MRR."
    )
    validate_every: Annotated[
        str | None,
        BeforeValidator(as_text),
        Flags(unset="a tenth of the run; 5 epochs under patience alone"),
    ] = Field(None, description="Time (15s) or number of epochs (5) between validations.")
    validation_sample: Annotated[
        int | None, Flags(unset="all below 5,000, else 2,500; fewer where a budget is short")
    ] = Field(
        None, ge=1, description="Validation triples ranked while training (others at its end)."
    )

    # Where and how
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of initialisation, order and sampling.")
    threads: Annotated[int | None, Flags(unset="as PyTorch chooses")] = Field(
        None, ge=1, le=MOST_THREADS, description="CPU threads."
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto", description="auto, cpu, cuda or mps."
    )

    @model_validator(mode="after")
    def _agree(self) -> Settings:
        self._fill_in()
        if self.alpha is not None and self.queries is not None:
            raise ValueError("alpha and queries both set the number of sampled queries; give one")
        if self.queries is not None and self.queries > self.batch_size:
            raise ValueError(
                f"queries ({self.queries}) are sampled from a batch, so at most "
                f"batch_size ({self.batch_size})"
            )
        if self.validate_every is not None:
            interval = Interval.parse(self.validate_every)
            if self.budget is None and interval.seconds is not None:
                raise ValueError(
                    "validate_every as a time goes with a budget; without one, give a number "
                    "of epochs, so that the run can be repeated exactly"
                )
        return self

    def block_size(self, num_entities: int) -> int:
        """The entities of a block, of so many; at least one, at most all."""
        if self.block == "all":
            return num_entities
        wanted = self.block * num_entities if self.block < 1 else self.block
        return min(num_entities, max(1, round(wanted)))

    def _fill_in(self) -> None:
        """What depends on other settings: the stop rule and the number of queries.

        Neither counts as given (``model_fields_set``).
        """
        values = self.__dict__
        if self.budget is None and self.epochs is None and self.patience is None:
            values["budget"] = DEFAULT_BUDGET_SECONDS
        if self.alpha is None and self.queries is None:
            values["queries"] = min(DEFAULT_QUERIES, self.batch_size)
