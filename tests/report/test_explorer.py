import base64
import re
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch.plugins import Precision
from matplotlib.figure import Figure
from PIL import Image
from tests.report.cases import Own, blobs, vae
from torch import Tensor, nn

from dislab.base.datamodule import draw_states
from dislab.callbacks import Traversals
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE, DenoisingAutoencoder, GroundTruthDecoder, InfoGAN
from dislab.report import explorer
from dislab.report.explorer import (
    STARTS,
    STRIP_STARTS,
    STRIP_STEPS,
    explorer_of,
    traversal_figure,
)
from dislab.report.verdict import LatentInformation

SIZE = 12


@pytest.fixture(autouse=True)
def _same_networks() -> None:
    """Random networks draw images of more and less noise, and JPEG moves the more noisy further."""
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def data() -> SingleData:
    return blobs(resize=SIZE)


def image_of(address: str) -> Any:
    return np.asarray(Image.open(BytesIO(base64.b64decode(address.partition(",")[2]))))


def reads_coordinates() -> VAE:
    """A model whose first two latents are the coordinates of a blob; the third is the prior."""
    module = vae(shape=(1, SIZE, SIZE))
    first, last = (part for part in module.encoder.modules() if isinstance(part, nn.Linear))
    places = torch.linspace(0, 1, SIZE)
    with torch.no_grad():
        for parameter in (*first.parameters(), *last.parameters()):
            parameter.zero_()
        first.weight[0], first.weight[1] = places.repeat(SIZE), places.repeat_interleave(SIZE)
        last.weight[0, 0], last.weight[1, 1] = 2.0, 1.0
    return module


def test_the_explorer_starts_from_the_images_of_the_reconstructions(
    data: SingleData, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []

    def image_grid(rows: Any, *_: Any, **__: Any) -> Figure:
        shown.append(rows)
        return Figure()

    monkeypatch.setattr(explorer, "image_grid", image_grid)
    module = reads_coordinates()
    explorer.reconstruction_figure(module, data)
    starts = explorer_of(module, data)["starts"][1:]
    images = [image_of(start["image"]) for start in starts]
    assert len(shown[0][0]) == 8
    for pixels, image in zip(shown[0][0], images, strict=False):
        np.testing.assert_array_equal((pixels[0] * 255).round(), image)


def test_sliders_are_ordered_by_kl_and_name_their_factor(data: SingleData) -> None:
    module = reads_coordinates()
    found = explorer_of(module, data)
    assert [one["latent"] for one in found["sliders"]] == [0, 1, 2]
    assert [one["active"] for one in found["sliders"]] == [True, True, False]
    assert found["sliders"][-1]["detail"] == "KL 0.00 nats"
    named = [one for one in found["sliders"] if one["carries"]]
    assert len(named) == 2
    for one in named:
        factor = one["carries"].removeprefix("partly ")
        assert factor in data.factors.names
        assert one["detail"].endswith(f" nats on {factor}")
    assert found["network"]["parameters"] > 0


def information_of(data: SingleData, *nats: tuple[float, float]) -> LatentInformation:
    """What the scores of a run say that each latent knows about the first two factors."""
    factors, zeros = list(data.factors.essential_names[:2]), torch.zeros(2)
    least = torch.full((2,), 0.1)
    information = torch.tensor([*nats, *[(0.0, 0.0)] * (3 - len(nats))])
    return LatentInformation(factors, information, least, zeros, zeros, 1000, False, False)


def names_of(module: VAE, data: SingleData, *given: Any) -> list[str]:
    sliders = explorer_of(module, data, *given)["sliders"]
    return [slider["carries"] for slider in sorted(sliders, key=lambda s: s["latent"])[:2]]


def test_a_slider_has_the_name_and_the_nats_of_the_scores_of_the_run(data: SingleData) -> None:
    module, (x, y) = reads_coordinates(), data.factors.essential_names[:2]
    assert names_of(module, data, information_of(data, (2, 0), (0, 3))) == [x, y]
    assert names_of(module, data, information_of(data, (0, 3), (2, 0))) == [y, x]
    spread = information_of(data, (1, 1), (1, 1))
    assert names_of(module, data, spread) == [f"partly {x}", f"partly {x}"]
    assert names_of(module, data, information_of(data, (2, 1), (0, 1))) == [x, f"partly {y}"]
    first = explorer_of(module, data, information_of(data, (1.25, 0)))["sliders"][0]
    assert first["detail"].endswith(f", 1.25 nats on {x}")
    of_other_latents = spread._replace(nats=spread.nats[:2])
    assert names_of(module, data, of_other_latents) == names_of(module, data)


def test_a_latent_that_tells_a_tenth_of_a_nat_or_less_or_noise_names_no_factor(
    data: SingleData,
) -> None:
    module, x = reads_coordinates(), data.factors.essential_names[0]
    spread = information_of(data, (0.2, 0), (0.2, 0))
    assert names_of(module, data, spread) == [f"partly {x}", f"partly {x}"]
    assert names_of(module, data, spread._replace(least=torch.full((2,), 0.4))) == ["", ""]
    assert names_of(module, data, spread._replace(noise=torch.full((2,), 0.2))) == ["", ""]
    assert names_of(module, data, information_of(data, (0.1, 0), (0.1, 0))) == ["", ""]
    least = information_of(data, (0.22, 0), (0.2, 0), (0.5, 0))  # less than a quarter
    assert names_of(module, data, least) == ["", ""]
    most = information_of(data, (0.5, 0.3), (0.4, 0.1), (0.45, 1.0))
    assert names_of(module, data, most)[0] == f"partly {x}"


def test_no_slider_has_the_name_of_a_factor_that_untrained_models_predict(
    data: SingleData,
) -> None:
    module, (x, y) = reads_coordinates(), data.factors.essential_names[:2]
    assert names_of(module, data, information_of(data, (2, 0), (0, 3)), [y]) == [x, ""]
    assert names_of(module, data, information_of(data, (2, 3)), [y]) == [f"partly {x}", ""]
    spread = information_of(data, (1, 0), (1, 0))
    assert names_of(module, data, spread, [y]) == [f"partly {x}", f"partly {x}"]
    assert names_of(module, data, spread, [x]) == ["", ""]


def test_a_row_of_traversals_names_both_factors_of_its_latent(data: SingleData) -> None:
    module = reads_coordinates()
    explorer = explorer_of(module, data)
    explorer["sliders"][0] |= {"name": "z0", "carries": "partly floor_hue, wall_hue"}
    explorer["sliders"][1] |= {"name": "z1", "carries": "partly floor_hue, wall_hue, object_hue, x"}
    figure = traversal_figure(module, explorer)
    assert figure is not None
    labels = [text.get_text() for text in figure.texts]
    assert labels[:2] == ["z0 partly floor_hue,\nwall_hue", "z1 partly floor_hue,\nwall_hue…"]


def test_a_slider_names_all_factors_that_the_verdict_gives_its_latent(data: SingleData) -> None:
    module, (x, y) = reads_coordinates(), data.factors.essential_names[:2]
    sliders = explorer_of(module, data, information_of(data, (2, 3), (0.9, 0)))["sliders"]
    first, second = sorted(sliders, key=lambda slider: slider["latent"])[:2]
    assert first["carries"] == f"partly {x}, partly {y}"
    assert re.search(rf"nats on {x}, \d\.\d\d nats on {y}$", first["detail"])
    assert second["carries"] == ""  # its factor is that of another latent
    assert "nats on" in second["detail"]


@pytest.mark.parametrize("side", [None, np.repeat([0, 1], 200)])
def test_the_number_of_an_image_names_no_latent(side: Any) -> None:
    grey = np.random.default_rng(0).integers(128, size=(400, 1, 1, 1))
    grey = grey if side is None else grey + 128 * side[:, None, None, None]
    images = np.broadcast_to(grey, (400, 1, SIZE, SIZE)).astype(np.uint8)
    labels = None if side is None else {"side": side}
    data = SingleData(ArrayDataset(images, labels), test=0.5)
    data.prepare_data()
    data.setup("test")
    assert len(data.factors.names) > len(data.factors.essential)  # the number is a factor
    module = vae(shape=(1, SIZE, SIZE))
    *_, last = (part for part in module.encoder.modules() if isinstance(part, nn.Linear))
    with torch.no_grad():
        last.weight.mul_(20)
    drawn = Traversals(points=200).grid(data, module, Precision())
    texts = [slider["detail"] for slider in explorer_of(module, data)["sliders"]]
    texts += drawn.row_labels
    assert len(texts) == 6
    assert not [text for text in texts if "instance" in text or "image" in text]
    assert any("side" in text for text in texts) is (side is not None)


def check_starts(found: Any, module: Any, data: SingleData, count: int) -> None:
    """After the middle of the codes come test images, each with its own code."""
    states = draw_states(data, "test", 2000, 0)[:count]
    assert set(states) <= set(data.indices("test"))
    images = data.images(torch.from_numpy(states))
    with torch.inference_mode():
        codes = module.codes(images)
    assert len(found["starts"]) == 1 + count
    for start, image, code in zip(found["starts"][1:], images, codes, strict=True):
        np.testing.assert_allclose(start["code"], code, atol=1e-4)
        np.testing.assert_array_equal(image_of(start["image"]), (image[0] * 255).round())


@pytest.mark.parametrize("scale", [1, 100])
def test_starts_are_test_images_with_their_codes(scale: int, data: SingleData) -> None:
    """Sliders reach them all, also codes that are many deviations from the middle."""
    module = vae(shape=(1, SIZE, SIZE))
    *_, last = (part for part in module.encoder.modules() if isinstance(part, nn.Linear))
    with torch.no_grad():
        last.weight[:3] *= scale
        last.bias[:3] *= scale
    found = explorer_of(module, data)
    assert found["starts"][0]["code"] == [0, 0, 0]
    check_starts(found, module, data, STARTS)
    reach = np.abs([start["code"] for start in found["starts"]]).max(axis=0)
    assert bool(reach.max() > 3) is (scale > 1)
    assert len(found["sliders"]) == 3
    for slider in found["sliders"]:
        assert slider["high"] >= max(3, reach[slider["latent"]])
        assert slider["low"] == -slider["high"]


def tile(found: Any, number: int) -> Any:
    sheet, columns = image_of(found["strips"]["image"]), found["strips"]["columns"]
    row, column = divmod(number, columns)
    return sheet[row * SIZE : (row + 1) * SIZE, column * SIZE : (column + 1) * SIZE]


def assert_alike(levels: Any, image: Tensor) -> None:
    """JPEG moves single pixels of a noisy image."""
    assert np.corrcoef(levels.ravel(), image.numpy().ravel())[0, 1] > 0.95


def test_other_decoders_become_strips(data: SingleData) -> None:
    module = vae(Own, (1, SIZE, SIZE))
    found = explorer_of(module, data)
    assert "network" not in found
    assert found["reason"] == "the page cannot compute Own"
    check_starts(found, module, data, STRIP_STARTS)
    slider = found["sliders"][1]
    assert len(slider["values"]) == STRIP_STEPS
    per_start = 1 + 3 * STRIP_STEPS
    code = torch.tensor(found["starts"][2]["code"])
    with torch.inference_mode():
        assert_alike(tile(found, 2 * per_start), module.decode(code[None])[0, 0])
        code[slider["latent"]] = slider["values"][4]
        expected = module.decode(code[None])[0, 0]
    assert_alike(tile(found, 2 * per_start + 1 + STRIP_STEPS + 4), expected)


def test_a_method_that_draws_from_factors_gets_a_slider_a_factor(data: SingleData) -> None:
    module = GroundTruthDecoder(
        (1, SIZE, SIZE), data.factor_names, data.factor_sizes, partial(MLPDecoder, hidden=(4,))
    ).eval()
    found = explorer_of(module, data)
    assert [one["name"] for one in found["sliders"]] == list(data.factor_names)
    slider = found["sliders"][0]
    assert slider["values"][-1] == data.factor_sizes[0] - 1
    factors = torch.tensor([found["starts"][1]["code"]]).long()
    factors[0, 0] = slider["values"][-1]
    with torch.inference_mode():
        expected = module.render(factors)[0, 0]
    each = 1 + sum(len(one["values"]) for one in found["sliders"])
    assert_alike(tile(found, each + len(slider["values"])), expected)


def test_codes_of_a_game_are_listed_or_bounded(data: SingleData) -> None:
    module = InfoGAN(
        (1, SIZE, SIZE),
        partial(MLPDecoder, hidden=(4,)),
        partial(MLPEncoder, hidden=(4,)),
        noise_dim=2,
        categorical=(3,),
        continuous=1,
    ).eval()
    found = explorer_of(module, data)
    assert found["sliders"][0]["values"] == [0, 1, 2]
    assert (found["sliders"][1]["low"], found["sliders"][1]["high"]) == (-1, 1)
    assert found["network"]["layers"][0] == {"kind": "codes", "zeros": 2, "categorical": [3]}


def test_codes_without_posterior_move_in_their_deviations(data: SingleData) -> None:
    module = DenoisingAutoencoder(
        (1, SIZE, SIZE),
        encoder=partial(MLPEncoder, hidden=(4,)),
        decoder=partial(MLPDecoder, hidden=(4,)),
        bottleneck=2,
    ).eval()
    found = explorer_of(module, data)
    assert len(found["sliders"]) == 2
    for slider in found["sliders"]:
        centre = found["starts"][0]["code"][slider["latent"]]
        assert slider["low"] < centre < slider["high"]
        assert slider["detail"].startswith("standard deviation ")


def test_images_with_two_channels_are_refused(
    data: SingleData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SingleData, "image_shape", (2, SIZE, SIZE))
    with pytest.raises(InputError, match="images of 2 channels cannot be shown"):
        explorer_of(vae(shape=(1, SIZE, SIZE)), data)
