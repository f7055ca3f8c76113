import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.datasets import Chairs3D
from dislab.datasets.chairs import chairs3d
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.testing import check_dataset

TINY = FactorSpace(
    (
        Factor("chair", (0.0, 1.0), "categorical"),
        *chairs3d.FACTORS.factors[1:],
    )
)
CHAIRS = ("1a6f615e8b1b5ae4dbbc9440457e303e", "b663f1e4df6c51fe19fb4103277a6b93")


def level(chair: int, elevation: int, step: int) -> int:
    return 120 * chair + 40 * elevation + step


def png(value: int, side: int = 600) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (side, side), (value, 2, 255 - value)).save(stream, "png", compress_level=1)
    return stream.getvalue()


def files() -> dict[str, bytes]:
    """As published: 31 of 32 even angles from 0 to 360, in whole degrees, numbered with a gap."""
    contents = {"rendered_chairs/all_chair_names.mat": b"names"}
    for chair, name in enumerate(CHAIRS):
        for elevation, angle in enumerate((20, 30)):
            for step in range(31):
                degrees = int(step * 360 / 31)
                file = f"image_{32 * elevation + step:03d}_p{angle:03d}_t{degrees:03d}_r096.png"
                contents[f"rendered_chairs/{name}/renders/{file}"] = png(
                    level(chair, elevation, step)
                )
    return contents


CONTENTS = files()
FIRST = f"rendered_chairs/{CHAIRS[0]}/renders/image_000_p020_t000_r096.png"


def write_tar(path: Path, contents: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name in reversed(contents):
            member = tarfile.TarInfo(name)
            member.size = len(contents[name])
            archive.addfile(member, io.BytesIO(contents[name]))


def write_folder(path: Path, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        place = path.parent / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, for a set of two chairs."""
    monkeypatch.setattr(chairs3d, "FACTORS", TINY)
    cache.mkdir()
    return cache


def test_states_are_the_published_ones(cache: Path) -> None:
    space = Chairs3D().factors
    assert space.sizes == (1393, 2, 31)
    assert len(space) == 86_366
    assert space["azimuth"].numbers[20] == pytest.approx(232.258, abs=1e-3)
    assert not cache.exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["rendered_chairs.tar", "rendered_chairs"])
def test_renderings_stand_at_their_angles(form: str, tiny: Path) -> None:
    write = write_tar if form.endswith("tar") else write_folder
    write(tiny / form, CONTENTS)
    dataset = Chairs3D(side=8)
    check_dataset(dataset)
    states = np.arange(len(TINY))
    levels = [level(*position) for position in TINY.positions(states).tolist()]
    images = dataset.images(torch.from_numpy(states))
    expected = torch.tensor([[value, 2, 255 - value] for value in levels])
    assert torch.equal(images.long(), expected[:, :, None, None].expand(-1, 3, 8, 8))


def test_360_degrees_may_stand_for_0_and_grey_has_one_channel(tiny: Path, tmp_path: Path) -> None:
    turned = {name.replace("_t000_", "_t360_"): one for name, one in CONTENTS.items()}
    write_folder(tmp_path / "rendered_chairs", turned)
    dataset = Chairs3D(grey=True, side=8, path=str(tmp_path / "rendered_chairs"))
    dataset.prepare()
    assert dataset.image_shape == (1, 8, 8)
    # 0.299 * 0 + 0.587 * 2 + 0.114 * 255 = 30.2
    assert (dataset.images(torch.tensor([0])) == 30).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({FIRST: None}, f"1 of the 62 renderings of {CHAIRS[0]} are missing, the one from 20° and"),
        (dict.fromkeys(list(CONTENTS)[63:]), "it holds renderings of 1 chairs, not 2"),
        (dict.fromkeys(CONTENTS), "it holds renderings of 0 chairs, not 2"),
        ({FIRST: CONTENTS[FIRST][:-90]}, "image_000_p020_t000_r096.png in .* cannot be decoded"),
        ({FIRST: png(0, 100)}, "has 100×100 pixels instead of 600×600"),
    ],
)
def test_other_content_is_refused(
    changed: dict[str, bytes | None], message: str, tiny: Path
) -> None:
    contents = {name: one for name, one in {**CONTENTS, **changed}.items() if one is not None}
    write_tar(tiny / "rendered_chairs.tar", contents)
    with pytest.raises(InputError, match=message):
        Chairs3D(side=8).prepare()


def test_a_cut_archive_is_refused(tiny: Path) -> None:
    path = tiny / "rendered_chairs.tar"
    write_tar(path, CONTENTS)
    path.write_bytes(path.read_bytes()[:-30_000])
    with pytest.raises(InputError, match=r"rendered_chairs\.tar (cannot be read|is not the pub)"):
        Chairs3D(side=8).prepare()


def test_a_missing_archive_and_an_impossible_side_are_explained(cache: Path) -> None:
    with pytest.raises(InputError, match=r"rendered_chairs\.tar or .* is not in .*set download"):
        Chairs3D().prepare()
    with pytest.raises(InputError, match="side 601 is not possible"):
        Chairs3D(side=601)
