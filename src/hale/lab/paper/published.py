"""The figures that the paper reports: MRR, Hits@10 and Hits@1 on the test splits.

Wang et al., "Swift and Sure", WWW 2022: Table 3 (d = 32), Table 4 (d = 256), Table 5 (ablation).
Training times are those of its Table 2, on an i7-7700K with a GTX 1070.
"""

from __future__ import annotations

from typing import NamedTuple


class Figures(NamedTuple):
    """One cell of a table."""

    mrr: float
    hits10: float
    hits1: float


# Seconds of training by data set.
SECONDS = {
    "wn18rr": 600.0,
    "fb15k-237": 1200.0,
    "codex-s": 300.0,
    "codex-m": 1200.0,
    "codex-l": 1200.0,
}

FIVE = ("transe", "distmult", "rotate", "rote", "rotl")
TITLES = {
    "transe": "TransE",
    "distmult": "DistMult",
    "rotate": "RotatE",
    "rote": "RotE",
    "rotl": "RotL",
    "affine": "AffinE",
    "murp": "MuRP",
    "refh": "RefH",
    "roth": "RotH",
    "atth": "AttH",
    "rescal": "RESCAL",
    "complex": "ComplEx",
    "conve": "ConvE",
    "tucker": "TuckER",
}

# Table 3: fully trained hyperbolic models, then five models under SamNeg and HaLE.
TABLE3: dict[tuple[str, str, str], Figures] = {
    ("fb15k-237", "full", "murp"): Figures(0.323, 0.501, 0.235),
    ("fb15k-237", "full", "refh"): Figures(0.312, 0.489, 0.224),
    ("fb15k-237", "full", "roth"): Figures(0.314, 0.497, 0.223),
    ("fb15k-237", "full", "atth"): Figures(0.324, 0.501, 0.236),
    ("wn18rr", "full", "murp"): Figures(0.465, 0.544, 0.420),
    ("wn18rr", "full", "refh"): Figures(0.447, 0.518, 0.408),
    ("wn18rr", "full", "roth"): Figures(0.472, 0.553, 0.428),
    ("wn18rr", "full", "atth"): Figures(0.466, 0.551, 0.419),
    ("fb15k-237", "samneg", "transe"): Figures(0.243, 0.422, 0.154),
    ("fb15k-237", "samneg", "distmult"): Figures(0.278, 0.445, 0.194),
    ("fb15k-237", "samneg", "rotate"): Figures(0.223, 0.391, 0.141),
    ("fb15k-237", "samneg", "rote"): Figures(0.246, 0.424, 0.159),
    ("fb15k-237", "samneg", "rotl"): Figures(0.140, 0.266, 0.079),
    ("wn18rr", "samneg", "transe"): Figures(0.177, 0.417, 0.045),
    ("wn18rr", "samneg", "distmult"): Figures(0.351, 0.482, 0.283),
    ("wn18rr", "samneg", "rotate"): Figures(0.346, 0.460, 0.285),
    ("wn18rr", "samneg", "rote"): Figures(0.355, 0.480, 0.290),
    ("wn18rr", "samneg", "rotl"): Figures(0.295, 0.368, 0.254),
    ("fb15k-237", "hale", "transe"): Figures(0.314, 0.492, 0.224),
    ("fb15k-237", "hale", "distmult"): Figures(0.308, 0.483, 0.222),
    ("fb15k-237", "hale", "rotate"): Figures(0.307, 0.479, 0.219),
    ("fb15k-237", "hale", "rote"): Figures(0.313, 0.486, 0.226),
    ("fb15k-237", "hale", "rotl"): Figures(0.316, 0.493, 0.228),
    ("wn18rr", "hale", "transe"): Figures(0.212, 0.492, 0.028),
    ("wn18rr", "hale", "distmult"): Figures(0.447, 0.533, 0.399),
    ("wn18rr", "hale", "rotate"): Figures(0.451, 0.536, 0.406),
    ("wn18rr", "hale", "rote"): Figures(0.460, 0.542, 0.416),
    ("wn18rr", "hale", "rotl"): Figures(0.471, 0.558, 0.424),
}

# Table 4: fully trained baselines (of more than 256 dimensions), SamNeg, HaLE.
TABLE4: dict[tuple[str, str, str], Figures] = {
    ("codex-s", "full", "rescal"): Figures(0.404, 0.623, 0.293),
    ("codex-s", "full", "transe"): Figures(0.354, 0.634, 0.219),
    ("codex-s", "full", "complex"): Figures(0.465, 0.646, 0.372),
    ("codex-s", "full", "conve"): Figures(0.444, 0.635, 0.343),
    ("codex-s", "full", "tucker"): Figures(0.444, 0.638, 0.339),
    ("codex-m", "full", "rescal"): Figures(0.317, 0.456, 0.244),
    ("codex-m", "full", "transe"): Figures(0.303, 0.454, 0.223),
    ("codex-m", "full", "complex"): Figures(0.337, 0.476, 0.262),
    ("codex-m", "full", "conve"): Figures(0.318, 0.464, 0.239),
    ("codex-m", "full", "tucker"): Figures(0.328, 0.458, 0.259),
    ("codex-l", "full", "rescal"): Figures(0.304, 0.419, 0.242),
    ("codex-l", "full", "transe"): Figures(0.187, 0.317, 0.116),
    ("codex-l", "full", "complex"): Figures(0.294, 0.400, 0.237),
    ("codex-l", "full", "conve"): Figures(0.303, 0.420, 0.240),
    ("codex-l", "full", "tucker"): Figures(0.309, 0.430, 0.244),
    ("codex-s", "samneg", "transe"): Figures(0.301, 0.544, 0.177),
    ("codex-s", "samneg", "distmult"): Figures(0.360, 0.589, 0.246),
    ("codex-s", "samneg", "rotate"): Figures(0.327, 0.546, 0.214),
    ("codex-s", "samneg", "rote"): Figures(0.328, 0.549, 0.214),
    ("codex-s", "samneg", "rotl"): Figures(0.313, 0.534, 0.205),
    ("codex-m", "samneg", "transe"): Figures(0.178, 0.327, 0.107),
    ("codex-m", "samneg", "distmult"): Figures(0.255, 0.395, 0.182),
    ("codex-m", "samneg", "rotate"): Figures(0.182, 0.327, 0.110),
    ("codex-m", "samneg", "rote"): Figures(0.183, 0.330, 0.112),
    ("codex-m", "samneg", "rotl"): Figures(0.162, 0.259, 0.106),
    ("codex-l", "samneg", "transe"): Figures(0.144, 0.260, 0.086),
    ("codex-l", "samneg", "distmult"): Figures(0.228, 0.353, 0.164),
    ("codex-l", "samneg", "rotate"): Figures(0.159, 0.281, 0.099),
    ("codex-l", "samneg", "rote"): Figures(0.155, 0.270, 0.097),
    ("codex-l", "samneg", "rotl"): Figures(0.055, 0.113, 0.026),
    ("codex-s", "hale", "transe"): Figures(0.353, 0.620, 0.223),
    ("codex-s", "hale", "distmult"): Figures(0.403, 0.629, 0.289),
    ("codex-s", "hale", "rotate"): Figures(0.407, 0.635, 0.289),
    ("codex-s", "hale", "rote"): Figures(0.409, 0.639, 0.291),
    ("codex-s", "hale", "rotl"): Figures(0.408, 0.639, 0.292),
    ("codex-m", "hale", "transe"): Figures(0.313, 0.467, 0.230),
    ("codex-m", "hale", "distmult"): Figures(0.314, 0.462, 0.236),
    ("codex-m", "hale", "rotate"): Figures(0.324, 0.474, 0.244),
    ("codex-m", "hale", "rote"): Figures(0.326, 0.475, 0.246),
    ("codex-m", "hale", "rotl"): Figures(0.324, 0.474, 0.244),
    ("codex-l", "hale", "transe"): Figures(0.300, 0.436, 0.226),
    ("codex-l", "hale", "distmult"): Figures(0.299, 0.427, 0.230),
    ("codex-l", "hale", "rotate"): Figures(0.302, 0.435, 0.229),
    ("codex-l", "hale", "rote"): Figures(0.308, 0.438, 0.237),
    ("codex-l", "hale", "rotl"): Figures(0.308, 0.438, 0.238),
}

# Table 5: RotL, d = 32, one part taken out at a time, and the activation under other strategies.
TABLE5: dict[tuple[str, str], Figures] = {
    ("codex-m", "HaLE-RotL"): Figures(0.309, 0.454, 0.231),
    ("codex-m", "w/o Activation"): Figures(0.289, 0.436, 0.212),
    ("codex-m", "w/o PosSquare"): Figures(0.241, 0.351, 0.185),
    ("codex-m", "w/o RelRatio"): Figures(0.293, 0.438, 0.214),
    ("codex-m", "HA + SamNeg"): Figures(0.297, 0.443, 0.219),
    ("codex-m", "HA + AllNeg"): Figures(0.262, 0.415, 0.182),
    ("fb15k-237", "HaLE-RotL"): Figures(0.316, 0.493, 0.228),
    ("fb15k-237", "w/o Activation"): Figures(0.294, 0.456, 0.212),
    ("fb15k-237", "w/o PosSquare"): Figures(0.268, 0.405, 0.202),
    ("fb15k-237", "w/o RelRatio"): Figures(0.295, 0.460, 0.212),
    ("fb15k-237", "HA + SamNeg"): Figures(0.314, 0.490, 0.225),
    ("fb15k-237", "HA + AllNeg"): Figures(0.287, 0.454, 0.204),
    ("wn18rr", "HaLE-RotL"): Figures(0.471, 0.558, 0.424),
    ("wn18rr", "w/o Activation"): Figures(0.426, 0.520, 0.376),
    ("wn18rr", "w/o PosSquare"): Figures(0.469, 0.558, 0.420),
    ("wn18rr", "w/o RelRatio"): Figures(0.454, 0.548, 0.404),
    ("wn18rr", "HA + SamNeg"): Figures(0.457, 0.553, 0.394),
    ("wn18rr", "HA + AllNeg"): Figures(0.449, 0.540, 0.387),
}
