from __future__ import annotations

import subprocess
import sys

import torch

from hale.data.graph import GraphSize
from hale.engine.blank import blank
from hale.models import MODELS, make_model

SIZE = GraphSize(num_entities=10, num_relations=3)


def test_a_blank_model_has_the_shapes_of_a_filled_one() -> None:
    for name in MODELS:
        with blank():
            made = make_model(name, SIZE, 8)
        filled = make_model(name, SIZE, 8)
        assert made.entity.weight.is_meta
        shapes = {key: value.shape for key, value in made.state_dict().items()}
        assert shapes == {key: value.shape for key, value in filled.state_dict().items()}, name


def test_after_it_numbers_are_drawn_again() -> None:
    with blank():
        pass
    assert torch.empty(100).normal_(mean=50.0).mean() > 40


def test_blank_models_do_not_import_the_compiler() -> None:
    """torch imports it to trace what fills a blank tensor: a second before every answer.

    ConvKB and encoders compute with what they have filled, which is traced all the same.
    """
    code = (
        "import sys\n"
        "from hale.data.graph import GraphSize\n"
        "from hale.engine.blank import blank\n"
        "from hale.models import MODELS, make_model\n"
        "for name in set(MODELS) - {'convkb', 'rgcn', 'compgcn', 'sacn'}:\n"
        "    with blank():\n"
        "        make_model(name, GraphSize(10, 3), 8, near=0.5)\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
