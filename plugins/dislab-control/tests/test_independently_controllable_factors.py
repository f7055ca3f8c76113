from functools import partial
from itertools import product
from typing import Any, get_args

import pytest
import torch

from dislab.base import ImageBatch, TransitionBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.losses import negative_log_likelihood
from dislab.functional.streams import Stream
from dislab.testing import check_declared, check_objective
from dislab_control import ActionBatch, IndependentlyControllableFactors
from dislab_control.independently_controllable_factors import Directions, _drawn_actions
from dislab_control.selectivity import UNBOUNDED, Form, Selectivity, reward_of, selectivity_of

SHAPE = (1, 4, 4)
ACTIONS = ("x+", "x-", "y+", "y-")
GIVEN: dict[str, Any] = {
    "image_shape": SHAPE,
    "action_names": ACTIONS,
    "latent_dim": 3,
    "encoder": partial(MLPEncoder, hidden=(8,)),
    "decoder": partial(MLPDecoder, hidden=(8,)),
    "features": 6,
}
BUILD: Any = partial(IndependentlyControllableFactors, **GIVEN)
STEP = torch.tensor(0)


def batch_of(count: int = 6, dtype: torch.dtype = torch.float32) -> ActionBatch:
    generator = torch.Generator().manual_seed(0)
    image = torch.rand(count, *SHAPE, generator=generator, dtype=dtype)
    after = torch.rand(count, len(ACTIONS), *SHAPE, generator=generator, dtype=dtype)
    after[0, 1] = image[0]  # a blocked move
    factors = torch.zeros(count, 2, dtype=torch.int64)
    return ActionBatch(image, after, factors, factors[:, None].repeat(1, len(ACTIONS), 1))


BATCH = batch_of()
TRANSITIONS = TransitionBatch(
    BATCH.image,
    BATCH.after[:, 2],
    BATCH.factors,
    BATCH.factors,
    torch.zeros(6, 2, dtype=torch.bool),
    torch.tensor([0, 1, 2, 3, 0, 1]),
)
FORMS: list[dict[str, Any]] = [
    {},
    {"form": "log", "weight": 1.0},
    {"directions": "both_ways", "selectivity": "signed", "policies": 5},
    {"directions": "generated", "selectivity": "gaussian", "form": "ratio", "policies": 5},
    {"expectation": "reinforce", "bounded": True},
    {"directions": "generated", "selectivity": "attribute", "form": "ratio", "weight": 0.1},
    # a small weight, because logarithms enlarge the rounding that the checks allow
    *(
        {"selectivity": name_of_kind, "form": "ratio", "weight": 0.1}
        for name_of_kind in UNBOUNDED
        if name_of_kind != "attribute"
    ),
]


@pytest.mark.parametrize("settings", FORMS)
def test_it_conforms(settings: dict[str, Any]) -> None:
    check_objective(partial(BUILD, **settings), BATCH)


@pytest.mark.parametrize("settings", FORMS[2:4])
def test_it_conforms_with_transitions(settings: dict[str, Any]) -> None:
    check_objective(partial(BUILD, **settings), TRANSITIONS)


def test_it_is_declared() -> None:
    check_declared("objectives", ["IndependentlyControllableFactors"])


def test_selectivities_by_hand() -> None:
    change = torch.tensor([[[3.0, -1.0], [0.0, 0.0]]])
    direction = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    # for directions (1, 0) and (0, 2): of the change (3, −1), and of none at all
    gaussian = [[-(4 + 1) / 8, -1 / 8], [-(9 + 9) / 8, -4 / 8]]
    length = 10**0.5
    expected: dict[str, list[list[float]]] = {
        "absolute": [[3 / 4, 0.0], [2 / 4, 0.0]],
        "signed": [[3 / 4, 0.0], [-2 / 4, 0.0]],
        "cosine": [[length + 3, 0.0], [length - 1, 0.0]],
        "dot_prod": [[3.0, 0.0], [2.0, 0.0]],
        "relu_dot_prod": [[3.0, 0.0], [0.0, 0.0]],
        "gaussian": torch.tensor(gaussian).exp().tolist(),
    }
    assert set(expected) | {"attribute"} == set(get_args(Selectivity))
    for kind, values in expected.items():
        selectivity = selectivity_of(change, direction, kind, width=2.0, epsilon=0.0)  # type: ignore[arg-type]
        finite = torch.nan_to_num(selectivity)  # 0/0 where nothing moves and ε is 0
        torch.testing.assert_close(finite[0], torch.tensor(values), atol=1e-5, rtol=1e-5)


def test_rewards_by_hand() -> None:
    selectivity = torch.tensor([[[0.6], [0.2], [-0.5]]])
    assert torch.equal(reward_of(selectivity, "plain"), selectivity)
    log = torch.tensor([0.61, 0.21, 0.01]).log()
    torch.testing.assert_close(reward_of(selectivity, "log")[0, :, 0], log)
    mean = 0.8 / 3 + 1e-5
    ratio = torch.tensor([1e-3 + 0.6 / mean, 1e-3 + 0.2 / mean, 1e-3]).log()
    torch.testing.assert_close(reward_of(selectivity, "ratio")[0, :, 0], ratio)


@pytest.mark.parametrize("kind", ["absolute", "signed"])
def test_selectivity_ignores_the_scale_of_the_codes_and_follows_their_order(
    kind: Selectivity,
) -> None:
    generator = torch.Generator().manual_seed(1)
    change = torch.randn(5, 4, 3, generator=generator)
    units = torch.eye(3).expand(5, -1, -1)
    selectivity = selectivity_of(change, units, kind, epsilon=0.0)
    torch.testing.assert_close(selectivity_of(7 * change, units, kind, epsilon=0.0), selectivity)
    order = torch.tensor([2, 0, 1])
    permuted = selectivity_of(change[:, :, order], units, kind, epsilon=0.0)
    torch.testing.assert_close(permuted, selectivity[:, order])
    flipped = selectivity_of(-change, units, kind, epsilon=0.0)
    torch.testing.assert_close(flipped, selectivity if kind == "absolute" else -selectivity)
    if kind == "absolute":
        torch.testing.assert_close(selectivity.sum(1), torch.ones(5, 4))


def test_a_dead_feature_and_a_blocked_move_have_no_selectivity_and_finite_gradients() -> None:
    change = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(2))
    change[:, :, 1] = 0  # a feature that never changes
    change[:, 2] = 0  # a blocked action
    change.requires_grad_()
    units = torch.eye(3).expand(2, -1, -1)
    for kind in ("absolute", "signed", "dot_prod", "relu_dot_prod", "cosine"):
        selectivity = selectivity_of(change, units, kind)
        if kind != "cosine":
            assert not selectivity[:, 1].any()
            assert not selectivity[:, :, 2].any()
        (gradient,) = torch.autograd.grad(reward_of(selectivity, "ratio").sum(), change)
        assert gradient.isfinite().all()


def test_the_loss_is_the_written_out_sum_and_so_is_its_gradient() -> None:
    model = BUILD(weight=3.0, entropy=0.7).double()
    batch = batch_of(dtype=torch.float64)
    loss, log = model.losses(batch, {}, STEP)
    count, latents = len(batch.image), 3
    total = torch.zeros((), dtype=torch.float64)
    entropy = torch.zeros((), dtype=torch.float64)
    for row in range(count):
        hidden = model.encoder(batch.image[row : row + 1]).relu()
        z = model.latents(hidden)[0]
        logits = model.policy(hidden)[0].view(latents, len(ACTIONS))
        for k in range(latents):
            policy = logits[k].exp() / logits[k].exp().sum()
            entropy = entropy - (policy * policy.log()).sum()
            for action in range(len(ACTIONS)):
                after = model.encoder(batch.after[row, action][None]).relu()
                change = (model.latents(after)[0] - z).abs()
                total = total + policy[action] * change[k] / (change.sum() + 1e-3)
    reconstruction = negative_log_likelihood(
        model.decoder(model.codes(batch.image)), batch.image, "bernoulli"
    )
    expected = reconstruction - 3.0 * total / (count * latents) - 0.7 * entropy / (count * latents)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(log["selectivity"], total / (count * latents))
    parameters = list(model.parameters())
    ours = torch.autograd.grad(loss, parameters)
    theirs = torch.autograd.grad(expected, parameters)
    for gradient, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(gradient, reference)


@pytest.mark.parametrize("directions", ["latents", "generated"])
@pytest.mark.parametrize("form", ["plain", "log", "ratio"])
def test_the_mean_gradient_of_drawn_actions_is_the_exact_one(
    form: Form, directions: Directions
) -> None:
    """Over all 81 outcomes of two policies with three actions at two images, baseline included."""
    settings: dict[str, Any] = {
        "form": form,
        "directions": directions,
        "policies": 2,
        "action_names": ACTIONS[:3],
        "entropy": 0.0,
    }
    exact = BUILD(**settings).double()
    sampled = BUILD(**settings, expectation="reinforce").double()
    sampled.load_state_dict(exact.state_dict())
    with torch.no_grad():  # policies that are far from even
        for model in (exact, sampled):
            last = model.policy if directions == "latents" else model.policy[-1]
            last.bias.copy_(torch.linspace(-1, 1, len(last.bias)))
    all_actions = batch_of(2, torch.float64)
    batch = all_actions._replace(
        after=all_actions.after[:, :3], after_factors=all_actions.after_factors[:, :3]
    )
    draws = {name: rows.double() for name, rows in sampled.draw(2, Stream(0)).items()}
    policy = sampled.behaviour(batch.image, draws).probability.detach()
    middles = policy.cumsum(2) - policy / 2
    expected = torch.autograd.grad(exact.losses(batch, draws, STEP).loss, exact.parameters())
    mean = [torch.zeros_like(gradient) for gradient in expected]
    value = torch.zeros((), dtype=torch.float64)
    for outcome in product(range(3), repeat=4):
        action = torch.tensor(outcome).view(2, 2, 1)
        chance = policy.gather(2, action).prod()
        draws["actions"] = middles.gather(2, action).squeeze(2)
        loss = sampled.losses(batch, draws, STEP).loss
        value = value + chance * loss.detach()
        gradients = torch.autograd.grad(loss, sampled.parameters())
        mean = [
            so_far + chance * gradient for so_far, gradient in zip(mean, gradients, strict=True)
        ]
    torch.testing.assert_close(value, exact.losses(batch, draws, STEP).loss)
    for gradient, reference in zip(mean, expected, strict=True):
        torch.testing.assert_close(gradient, reference)


def test_one_evenly_drawn_action_gives_the_exact_sum_on_average() -> None:
    model = BUILD(entropy=0.0).double()
    batch = batch_of(dtype=torch.float64)
    exact = model.losses(batch, {}, STEP).loss
    means = []
    for action in range(len(ACTIONS)):
        actions = torch.full((len(batch.image),), action)
        changed = torch.zeros(len(batch.image), 2, dtype=torch.bool)
        transitions = TransitionBatch(
            batch.image, batch.after[:, action], batch.factors, batch.factors, changed, actions
        )
        means.append(model.losses(transitions, {}, STEP).loss)
    torch.testing.assert_close(torch.stack(means).mean(), exact)


def test_drawn_actions_follow_the_policies() -> None:
    model = BUILD(expectation="reinforce")
    image = BATCH.image[:1].expand(20_000, -1, -1, -1)
    uniform = model.draw(len(image), Stream(0))
    policy = model.behaviour(image, uniform).probability
    action = _drawn_actions(policy, uniform["actions"])
    for k in range(3):
        share = torch.bincount(action[:, k], minlength=len(ACTIONS)) / len(image)
        torch.testing.assert_close(share, policy[0, k], atol=0.015, rtol=0)


@pytest.mark.parametrize("directions", get_args(Directions))
def test_behaviours_are_probabilities_and_directions(directions: Directions) -> None:
    model = BUILD(directions=directions)
    behaviour = model.behaviour(BATCH.image, model.draw(6, Stream(0)))
    policies = 6 if directions == "both_ways" else 3
    assert behaviour.probability.shape == (6, policies, 4)
    torch.testing.assert_close(behaviour.probability.sum(2), torch.ones(6, policies))
    assert behaviour.direction.shape == (6, policies, 3)
    assert behaviour.direction.abs().max() <= 1
    if directions == "both_ways":
        assert torch.equal(behaviour.direction[0], torch.cat([torch.eye(3), -torch.eye(3)]))


def test_images_are_reconstructed_from_codes() -> None:
    model = BUILD(bounded=True)
    assert model.codes(BATCH.image).abs().max() < 1
    assert torch.equal(model.reconstruct(BATCH.image), model.decode(model.codes(BATCH.image)))
    assert ImageBatch not in model.batch_types


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"action_names": ()}, "the data have no actions, and policies need .*; take ActionData"),
        ({"action_names": ("x+",)}, "the data have 1 action, and"),
        ({"policies": 4}, "policies is 4, and 3 latents have 3 directions for them; choose 1 to 3"),
        ({"policies": 0}, "policies is 0"),
        ({"policies": 7, "directions": "both_ways"}, "have 6 directions"),
        ({"policies": 0, "directions": "generated"}, "policies is 0"),
        ({"weight": -1.0}, "weight is -1.0; it must be a finite number of at least 0"),
        ({"entropy": -0.1}, "entropy is -0.1"),
        ({"width": 0.0}, "width is 0.0"),
        ({"latent_dim": 0}, "latent_dim is 0"),
        ({"features": 0}, "features is 0"),
        ({"selectivity": "absolut"}, r"'absolut'"),
        ({"selectivity": "dot_prod"}, "dot_prod grows with the codes.* set form: ratio"),
    ],
)
def test_mistakes_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        IndependentlyControllableFactors(**{**GIVEN, **settings})
