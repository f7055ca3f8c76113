"""InfoMEC of latents that take few codes, as those of QLAE."""

import math

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score
from sklearn.preprocessing import OneHotEncoder

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import InfoMEC

SPACE = FactorSpace((Factor("a", (0.0, 1.0, 2.0)), Factor("b", (0.0, 1.0, 2.0, 3.0))))


def scored(codes: torch.Tensor, factors: torch.Tensor) -> dict[str, torch.Tensor]:
    metric = InfoMEC(SPACE, estimator="discrete")
    metric.update(codes, factors)
    return metric.compute()


def drawn(images: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    columns = [torch.randint(size, (images,), generator=generator) for size in SPACE.sizes]
    return torch.stack(columns, dim=1)


def test_perfect_codes_in_any_order_of_values() -> None:
    factors = drawn(500)
    # bins between the smallest and the largest code would put three of these into one
    values = torch.tensor([0.0, 0.01, 0.02, 1.0])
    codes = torch.stack([values[factors[:, 1]], values[2 - factors[:, 0]]], dim=1)
    found = scored(torch.cat([codes, torch.ones(500, 1)], 1), factors)
    assert found["infom_discrete"].item() == pytest.approx(1, abs=0.02)
    assert found["infoc_discrete"].item() == pytest.approx(1, abs=0.02)
    assert found["infoe_discrete"].item() == pytest.approx(1, abs=1e-3)
    assert found["infomec_num_active"].item() == 2
    assert found["infomec_discrete_information"][2].tolist() == [0, 0]


def test_the_numbers_are_those_of_the_published_procedure() -> None:
    factors = drawn(400)
    noise = torch.randint(3, (400, 2), generator=torch.Generator().manual_seed(1))
    codes = ((factors + noise) % 4 - 1.5).float()
    found = scored(codes, factors)
    shares = torch.tensor(
        [
            [mutual_info_score(own, z) / mutual_info_score(own, own) for own in factors.T.numpy()]
            for z in (codes * 2).int().T.numpy()
        ]
    )
    assert torch.allclose(found["infomec_discrete_information"].float(), shares.float(), atol=1e-6)
    modular = (shares.max(1).values / shares.sum(1)).mean()
    assert found["infom_discrete"].item() == pytest.approx((modular.item() - 0.5) / 0.5, abs=1e-6)
    inputs = OneHotEncoder().fit_transform(codes.numpy())
    explicit = []
    for own in factors.T.numpy():
        model = LogisticRegression(C=math.inf, max_iter=100).fit(inputs, own)
        loss = log_loss(own, model.predict_proba(inputs))
        explicit.append(1 - loss / mutual_info_score(own, own))
    assert found["infoe_discrete_per_factor"].tolist() == pytest.approx(explicit, abs=1e-3)


def test_continuous_codes_are_refused() -> None:
    with pytest.raises(InputError, match="latent 1 takes 60 different codes in 60 images"):
        scored(torch.cat([torch.zeros(60, 1), torch.randn(60, 1)], 1), drawn(60))
