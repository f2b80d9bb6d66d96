"""What the native kernel's functions take, field by field the structures of native/problems.h."""

from __future__ import annotations

import ctypes


class Uniformity(ctypes.Structure):
    """The uniformity term over all entities."""

    _fields_ = (
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("entities", ctypes.c_void_p),
        ("scale", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("beta", ctypes.c_float),
        ("shape", ctypes.c_void_p),
        ("gammas", ctypes.c_void_p),
        ("left_out", ctypes.c_void_p),
        ("left_from", ctypes.c_void_p),
        ("ratio", ctypes.c_double),
        ("bases", ctypes.c_void_p),
        ("others", ctypes.c_void_p),
        ("share", ctypes.c_float),
        ("add", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("workspace", ctypes.c_void_p),
        ("logs", ctypes.c_void_p),
        ("by_query", ctypes.c_void_p),
        ("by_entity", ctypes.c_void_p),
        ("by_scale", ctypes.c_void_p),
        ("by_others", ctypes.c_void_p),
        ("phases", ctypes.c_void_p),
    )


class Alignment(ctypes.Structure):
    """The alignment term of positives."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("tails", ctypes.c_void_p),
        ("scale", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("beta", ctypes.c_float),
        ("shape", ctypes.c_void_p),
        ("gammas", ctypes.c_void_p),
        ("square", ctypes.c_int32),
        ("share", ctypes.c_float),
        ("threads", ctypes.c_int32),
        ("activated", ctypes.c_void_p),
        ("by_query", ctypes.c_void_p),
        ("by_tail", ctypes.c_void_p),
        ("by_scale", ctypes.c_void_p),
    )


class Turn(ctypes.Structure):
    """Query vectors of the models that rotate, and their gradients."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("relations", ctypes.c_int64),
        ("vectors", ctypes.c_void_p),
        ("which", ctypes.c_void_p),
        ("turns", ctypes.c_void_p),
        ("shifts", ctypes.c_void_p),
        ("alphas", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
        ("queries", ctypes.c_void_p),
        ("by_queries", ctypes.c_void_p),
        ("by_vectors", ctypes.c_void_p),
        ("by_turns", ctypes.c_void_p),
        ("by_shifts", ctypes.c_void_p),
        ("by_alphas", ctypes.c_void_p),
    )


class Map(ctypes.Structure):
    """Query vectors of the model whose relations are affine maps in blocks, and their gradients."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("b", "d", "k", "stride", "width", "relations")),
        *((name, ctypes.c_void_p) for name in ("vectors", "which", "maps", "shifts")),
        ("threads", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("queries", "by_queries", "by_vectors")),
        *((name, ctypes.c_void_p) for name in ("by_maps", "by_shifts")),
    )


class Rows(ctypes.Structure):
    """Rows of a table that are looked up, or added to it."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("table", ctypes.c_void_p),
        ("ids", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    )


class SumRows(ctypes.Structure):
    """Rows summed up by the row of a table that they belong to."""

    _fields_ = (
        ("parts", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("counts", ctypes.c_void_p),
        ("ids", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
        ("count", ctypes.c_void_p),
        ("touched", ctypes.c_void_p),
        ("summed", ctypes.c_void_p),
    )


class AdamRows(ctypes.Structure):
    """Adam on some rows of a table, each from where it would be by now."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("ids", ctypes.c_void_p),
        ("gradients", ctypes.c_void_p),
        ("table", ctypes.c_void_p),
        ("means", ctypes.c_void_p),
        ("squares", ctypes.c_void_p),
        ("last", ctypes.c_void_p),
        ("due", ctypes.c_void_p),
        ("step", ctypes.c_int64),
        ("first", ctypes.c_float),
        ("second", ctypes.c_float),
        ("rate", ctypes.c_float),
        ("eps", ctypes.c_float),
        ("threads", ctypes.c_int32),
    )


class Draw(ctypes.Structure):
    """A block of entities that is drawn."""

    _fields_ = (
        ("n", ctypes.c_int64),
        ("s", ctypes.c_int64),
        ("start", ctypes.c_int64),
        ("keys", ctypes.c_void_p),
        ("ids", ctypes.c_void_p),
    )


class Find(ctypes.Structure):
    """Where ids stand in a block."""

    _fields_ = (
        ("s", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("block", ctypes.c_void_p),
        ("wanted", ctypes.c_void_p),
        ("places", ctypes.c_void_p),
    )


class Leave(ctypes.Structure):
    """What the sums of queries leave out, in a block."""

    _fields_ = (
        ("m", ctypes.c_int64),
        ("s", ctypes.c_int64),
        ("known", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("heads", ctypes.c_void_p),
        ("relations", ctypes.c_void_p),
        ("ruled_out", ctypes.c_void_p),
        ("block", ctypes.c_void_p),
        ("keys", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("answers", ctypes.c_void_p),
        ("room", ctypes.c_int64),
        ("places", ctypes.c_void_p),
        ("begins", ctypes.c_void_p),
        ("counts", ctypes.c_void_p),
    )


class Mask(ctypes.Structure):
    """The entries of a table that dropout zeroes."""

    _fields_ = (
        ("lost", ctypes.c_int32),
        ("key", ctypes.c_int32),
        ("count", ctypes.c_int64),
        ("mask", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    )


class Parameter(ctypes.Structure):
    """A table of relations that Adam moves as a whole."""

    _fields_ = (
        ("values", ctypes.c_void_p),
        ("means", ctypes.c_void_p),
        ("squares", ctypes.c_void_p),
        ("rate", ctypes.c_float),
        ("root", ctypes.c_float),
    )


class Step(ctypes.Structure):
    """A whole step of HaLE with a model that rotates."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("m", ctypes.c_int64),
        ("s", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("dim", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("relations", ctypes.c_int64),
        ("triples", ctypes.c_void_p),
        ("drawn", ctypes.c_void_p),
        ("block", ctypes.c_void_p),
        ("left_out", ctypes.c_void_p),
        ("left_from", ctypes.c_void_p),
        ("table", ctypes.c_void_p),
        ("means", ctypes.c_void_p),
        ("squares", ctypes.c_void_p),
        ("last", ctypes.c_void_p),
        ("due", ctypes.c_void_p),
        ("step", ctypes.c_int64),
        ("parameters", ctypes.c_void_p),
        ("gammas", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("beta", ctypes.c_float),
        ("shape", ctypes.c_void_p),
        ("weight", ctypes.c_float),
        ("square", ctypes.c_int32),
        ("ratio", ctypes.c_double),
        ("bases", ctypes.c_void_p),
        ("lost", ctypes.c_int32),
        ("key", ctypes.c_int32),
        ("first", ctypes.c_float),
        ("second", ctypes.c_float),
        ("rate", ctypes.c_float),
        ("eps", ctypes.c_float),
        ("threads", ctypes.c_int32),
        ("values", ctypes.c_void_p),
    )


class Ranks(ctypes.Structure):
    """How many entities score above, and at or above, a threshold of each query."""

    _fields_ = (
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("entities", ctypes.c_void_p),
        ("own", ctypes.c_void_p),
        ("biases", ctypes.c_void_p),
        ("by_distance", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("thresholds", ctypes.c_void_p),
        ("marks", ctypes.c_void_p),
        ("marked", ctypes.c_void_p),
        ("higher", ctypes.c_void_p),
        ("no_lower", ctypes.c_void_p),
        ("finite", ctypes.c_void_p),
    )


class Pairs(ctypes.Structure):
    """The scores of some pairs of queries and entities."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("entities", ctypes.c_void_p),
        ("own", ctypes.c_void_p),
        ("biases", ctypes.c_void_p),
        ("by_distance", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("rows", ctypes.c_void_p),
        ("columns", ctypes.c_void_p),
        ("scores", ctypes.c_void_p),
    )
