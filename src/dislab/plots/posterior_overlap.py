"""Overlap of the posteriors of different images."""

import numpy as np
from jaxtyping import Float
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._panels import DPI, LABEL_SIZE


def posterior_overlap(
    mean: Float[np.ndarray, "image 2"],
    deviation: Float[np.ndarray, "image 2"],
    values: Float[np.ndarray, " image"],
    name: str,
) -> Figure:
    """A figure of posteriors in the plane of two latents, as ellipses of one standard deviation.

    Under a penalty on the KL, posteriors widen until they overlap. Images with overlapping
    posteriors are confused in decoding, which costs least if neighbours in the plane are similar
    images; gradual changes of colour indicate this.

    After Burgess et al. (2018), https://arxiv.org/abs/1804.03599, on the overlap of posteriors.

    Args:
        mean: Posterior means.
        deviation: Posterior standard deviations.
        values: A factor's value of each image, which colours its ellipse.
        name: The factor, with its unit.

    Raises:
        InputError: The arrays are empty, do not have two latents, shapes differ, or a
            deviation is not above 0.
    """
    shapes = mean.shape, deviation.shape, values.shape
    if not mean.size or shapes != ((len(mean), 2), (len(mean), 2), (len(mean),)):
        raise InputError(
            f"means of shape {shapes[0]}, deviations of {shapes[1]} and values of {shapes[2]} are "
            "no posteriors of two latents; give (images, 2) twice and (images,)"
        )
    if not (deviation > 0).all():
        raise InputError(f"deviations are above 0, not {deviation.min():g}")
    figure = Figure(figsize=(4.2, 3.6), dpi=DPI, facecolor="white", layout="constrained")
    axes = figure.subplots()
    ellipses = EllipseCollection(
        2 * deviation[:, 0],
        2 * deviation[:, 1],
        np.zeros(len(mean)),
        units="xy",
        offsets=mean,
        offset_transform=axes.transData,
        array=values,
        cmap="viridis",
        alpha=0.35,
    )
    axes.add_collection(ellipses)
    reach = float((np.abs(mean) + deviation).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set_xlabel("first latent", fontsize=LABEL_SIZE)
    axes.set_ylabel("second latent", fontsize=LABEL_SIZE)
    axes.tick_params(labelsize=LABEL_SIZE)
    scale = figure.colorbar(ellipses, ax=axes)
    scale.set_label(name, fontsize=LABEL_SIZE)
    scale.ax.tick_params(labelsize=LABEL_SIZE)
    return figure
