import math

import torch

from dislab.functional.experts import product_of_experts


def test_precisions_add_up_and_weight_the_means() -> None:
    mean = torch.tensor([[2.0, 0.0], [-1.0, 4.0]], dtype=torch.float64)
    log_var = torch.tensor([[0.5, 1.0], [0.25, 0.2]], dtype=torch.float64).log()
    present = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    found_mean, found_log_var = product_of_experts(mean, log_var, present)
    # with the prior's 1: 1 + 2 + 4 and 1 + 1 + 5; 1 + 4 and 1 + 5; 1 and 1
    expected = torch.tensor([[7.0, 7.0], [5.0, 6.0], [1.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(found_log_var, -expected.log())
    weighted = torch.tensor([[0.0, 20 / 7], [-4 / 5, 20 / 6], [0, 0]], dtype=torch.float64)
    torch.testing.assert_close(found_mean, weighted)


def test_it_is_the_normalised_product_of_densities() -> None:
    mean, log_var = torch.tensor([[1.5], [-0.5]]).double(), torch.tensor([[0.3], [-1.0]]).double()
    z = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    logs = -0.5 * z**2 - sum(
        0.5 * (z - m) ** 2 * math.exp(-v)
        for m, v in zip(mean[:, 0].tolist(), log_var[:, 0].tolist(), strict=True)
    )
    density = logs.exp() / torch.trapezoid(logs.exp(), z)
    found_mean, found_log_var = product_of_experts(mean, log_var, torch.ones(1, 2).double())
    center = torch.trapezoid(density * z, z)
    torch.testing.assert_close(found_mean[0, 0], center)
    spread = torch.trapezoid(density * (z - center) ** 2, z)
    torch.testing.assert_close(found_log_var.exp()[0, 0], spread)
