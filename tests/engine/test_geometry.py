from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from hale.engine import geometry


def test_rotate_by_a_right_angle_and_by_a_free_length() -> None:
    turn = torch.tensor([0.0, 5.0, 3.0, 0.0])  # 90 degrees, 0 degrees; lengths do not matter
    turned = geometry.rotate(geometry.unit_pairs(turn), torch.tensor([1.0, 2.0, 3.0, 4.0]))
    torch.testing.assert_close(turned, torch.tensor([-2.0, 1.0, 3.0, 4.0]))


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-2, 2), st.floats(-2, 2))
def test_rotate_against_complex_numbers(angle: float, length: float, x: float, y: float) -> None:
    radius = abs(length) + 0.1
    turn = torch.tensor([radius * math.cos(angle), radius * math.sin(angle)], dtype=torch.float64)
    unit = geometry.unit_pairs(turn)
    turned = geometry.rotate(unit, torch.tensor([x, y], dtype=torch.float64))
    expected = complex(math.cos(angle), math.sin(angle)) * complex(x, y)
    assert math.isclose(turned[0].item(), expected.real, abs_tol=1e-9)
    assert math.isclose(turned[1].item(), expected.imag, abs_tol=1e-9)


def test_rotate_by_the_zero_vector_is_finite() -> None:
    turn = torch.zeros(2, requires_grad=True)
    geometry.rotate(geometry.unit_pairs(turn), torch.ones(2)).sum().backward()  # type: ignore[no-untyped-call]
    assert turn.grad is not None
    assert torch.isfinite(turn.grad).all()


def test_flexible_add_by_hand() -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25])
    # <x, y> = 1, so 3 (x + y) / 2
    total = geometry.flexible_add(x, y, torch.tensor([3.0]))
    torch.testing.assert_close(total, torch.tensor([2.25, 3.375]))


def test_flexible_add_at_its_pole() -> None:
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    total = geometry.flexible_add(x, torch.tensor([-1.0, 0.0]), torch.tensor([1.0]))
    total.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(total).all()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


def test_lifted_products_are_squared_distances() -> None:
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(3, 5, dtype=torch.float64, generator=generator)
    candidates = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    lifted = geometry.lift_queries(queries) @ geometry.lift_candidates(candidates).T
    for i in range(3):
        for j in range(4):
            plain = sum((queries[i, k] - candidates[j, k]).item() ** 2 for k in range(5))
            assert math.isclose(lifted[i, j].item(), plain, rel_tol=1e-12)
            direct = geometry.squared_distance(queries[i], candidates[j]).item()
            assert math.isclose(direct, plain, rel_tol=1e-12)


def test_reflect_against_angles() -> None:
    """(x, y) -> (x cos a + y sin a, x sin a - y cos a), and twice is nothing."""
    angle = torch.tensor([[0.3, 2.0]], dtype=torch.float64)
    turn = torch.stack((angle.cos(), angle.sin()), dim=-1).flatten(-2)
    vector = torch.tensor([[0.5, -1.0, 2.0, 0.25]], dtype=torch.float64)
    wanted = [
        [
            0.5 * math.cos(0.3) - 1.0 * math.sin(0.3),
            0.5 * math.sin(0.3) + 1.0 * math.cos(0.3),
            2.0 * math.cos(2.0) + 0.25 * math.sin(2.0),
            2.0 * math.sin(2.0) - 0.25 * math.cos(2.0),
        ]
    ]
    once = geometry.reflect(turn, vector)
    torch.testing.assert_close(once, torch.tensor(wanted, dtype=torch.float64))
    torch.testing.assert_close(geometry.reflect(turn, once), vector)


def test_by_relation_against_one_by_one() -> None:
    torch.manual_seed(0)
    vectors, matrices = torch.randn(20, 3), torch.randn(6, 3, 4)
    relation = torch.randint(5, (20,))  # relation 5 is not asked for
    found = geometry.by_relation(vectors, relation, matrices)
    for i in range(20):
        torch.testing.assert_close(found[i], vectors[i] @ matrices[relation[i]])
