"""Any backbone of timm as an encoder."""

from types import ModuleType
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape
from dislab.errors import InputError, explained, one_line


@final
class TimmEncoder(Encoder):
    """A timm backbone, chosen by its name, with a linear output layer.

    Needs the extra `dislab[timm]`. Nothing is downloaded unless `pretrained` is set; pretrained
    backbones expect timm's normalisation of images, which is not applied here. Batch normalisation
    depends on each process's batch, so that results of such backbones depend on the number of
    processes.

    Wightman (2019), https://github.com/huggingface/pytorch-image-models.

    Args:
        image_shape: Channels, height and width.
        outputs: Length of the output vector.
        backbone: A name from `timm.list_models()`.
        pretrained: Whether to start from published weights, which are downloaded.

    Raises:
        InputError: timm is not installed or cannot be imported, it has no such backbone, or the
            backbone refuses the images.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        outputs: int,
        backbone: str = "resnet18",
        pretrained: bool = False,
    ) -> None:
        super().__init__()
        timm = _timm()
        if not timm.is_model(backbone):
            family = timm.list_models(f"*{backbone[:6]}*")[:8] or timm.list_models()[:8]
            raise InputError(
                f"timm {timm.__version__} has no backbone {backbone!r}; it has "
                f"{', '.join(family)} and others: timm.list_models()"
            )
        channels, height, width = image_shape
        settings: dict[str, Any] = {"in_chans": channels, "num_classes": outputs}
        weights = timm.get_pretrained_cfg(backbone)
        if weights is not None and weights.fixed_input_size:
            settings["img_size"] = (height, width)
        try:
            self.network: nn.Module = timm.create_model(backbone, pretrained, **settings)
            with torch.no_grad():  # some backbones refuse an image size only in the forward pass
                self.network.eval()(torch.zeros(1, *image_shape))
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(
                f"{backbone} refuses {channels}×{height}×{width} images: {one_line(error)}; "
                "choose another backbone or size"
            ) from error
        self.network.train()

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images, pixels in [0, 1]."""
        vectors: Tensor = self.network(image)
        return vectors


def _timm() -> ModuleType:
    """Imports timm when an encoder is constructed; the error says how to install it."""
    try:
        import timm
    except ImportError as error:
        raise InputError(
            f"TimmEncoder needs timm, which cannot be imported ({error}); install it: "
            "pip install 'dislab[timm]'"
        ) from error
    except RuntimeError as error:
        raise explained(error) from error
    module: ModuleType = timm
    return module
