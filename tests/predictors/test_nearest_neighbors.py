import pytest
import torch
from sklearn.neighbors import KNeighborsRegressor

from dislab.errors import InputError
from dislab.predictors import NearestNeighbors
from dislab.predictors import nearest_neighbors as module


def test_numbers_are_averaged_and_kinds_voted() -> None:
    codes = torch.tensor([[[0.0], [1.0], [2.0], [10.0], [11.0]]])
    targets = torch.tensor([[0.0, 2.0], [0.3, 1.0], [0.6, 1.0], [1.0, 0.0], [0.8, 0.0]])
    own = NearestNeighbors(1, (0, 3), k=3)
    own.fit(codes, targets)
    found = own.predict(torch.tensor([[[-5.0], [30.0]]]))[0]
    assert found[:, 0].tolist() == pytest.approx([0.3, 0.8])
    assert found[:, 1].tolist() == [1.0, 0.0]
    own = NearestNeighbors(1, (0, 3), k=2)
    own.fit(codes, targets)
    tied = own.predict(torch.tensor([[[-5.0]]]))[0]
    assert tied.tolist() == [[pytest.approx(0.15), 1.0]]


def test_it_is_scikit_learns_on_standardised_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    source = torch.Generator().manual_seed(0)
    codes = torch.randn(2, 200, 4, generator=source, dtype=torch.float64) * torch.tensor(
        [1.0, 100.0, 0.01, 3.0], dtype=torch.float64
    )
    targets = torch.rand(150, 2, generator=source, dtype=torch.float64)
    own = NearestNeighbors(4, (0, 0), k=6)
    own.fit(codes[:, :150], targets)
    found = own.predict(codes[:, 150:])
    monkeypatch.setattr(module, "DISTANCES_AT_ONCE", 7 * 150)  # eight parts, one of them shorter
    assert torch.equal(own.predict(codes[:, 150:]), found)
    for run in range(2):
        known = codes[run, :150]
        own_scale = (codes[run] - known.mean(0)) / known.std(0, correction=0)
        model = KNeighborsRegressor(6).fit(own_scale[:150].numpy(), targets.numpy())
        expected = torch.from_numpy(model.predict(own_scale[150:].numpy()))
        assert torch.allclose(found[run], expected, rtol=0, atol=1e-12)


def test_fewer_images_than_neighbours_are_all_asked() -> None:
    own = NearestNeighbors(1, (0,), k=5)
    own.fit(torch.tensor([[[0.0], [1.0]]]), torch.tensor([[0.0], [1.0]]))
    assert own.predict(torch.tensor([[[0.0]]])).item() == 0.5


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="k is 0"):
        NearestNeighbors(3, (0,), k=0)
    with pytest.raises(InputError, match="call fit"):
        NearestNeighbors(3, (0,)).predict(torch.zeros(1, 2, 3))
