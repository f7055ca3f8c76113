"""The scores as their papers and published code compute them, and how far dislab's differ.

python benchmarks/published_scores.py                  all scores: some minutes
python benchmarks/published_scores.py --kinds perfect  one kind of codes
python benchmarks/published_scores.py --scores mig     some of the scores

What a call leaves out keeps its former results.

Published code is not installed: it needs TensorFlow 1 and other old releases. Each procedure is
written anew from the formula of its paper and from reading the published code, plainly: loops over
pairs of latents and factors, votes and batches, and scikit-learn's exact learners. Images with a
value are looked up in lists made once: no loop scans all images for each draw.
"""

import argparse
import json
import os
from functools import partial
from itertools import permutations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from collections.abc import Callable

import numpy as np
import scipy.linalg
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy, rankdata, spearmanr
from sklearn.cross_decomposition import CCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import mutual_info_classif
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
)
from sklearn.metrics import log_loss, mutual_info_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, label_binarize
from sklearn.svm import LinearSVC

from dislab.factors import FactorSpace
from dislab.functional.random import host_generator
from dislab.metrics import (
    DCI,
    DCIES,
    DCIMIG,
    DMIG,
    IRS,
    JEMMIG,
    MCC,
    MIG,
    OMES,
    RDC,
    SAP,
    BetaVAEScore,
    BlockMCC,
    DownstreamAccuracy,
    Explicitness,
    FactorVAEScore,
    GaussianTotalCorrelation,
    InfoMEC,
    MeanPairwiseMI,
    MIGSup,
    Modularity,
    WassersteinCorrelation,
)
from dislab.study.statistics import udr
from standard_codes import draw_factors, provenance, space_of, standard_codes

Procedure = Callable[[np.ndarray, np.ndarray], float]
Several = Callable[[np.ndarray, np.ndarray], dict[str, float]]

VOTES_TRAIN, VOTES_TEST, SAMPLES = 10_000, 5_000, 64


def cut(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two thirds to learn from and the rest to test on."""
    boundary = len(rows) - round(len(rows) / 3)
    return rows[:boundary], rows[boundary:]


def binned(codes: np.ndarray) -> list[np.ndarray]:
    return [np.digitize(x, np.histogram(x, 20)[1][:-1]) for x in codes.T]


def information(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    return np.array([[mutual_info_score(v, x) for v in factors.T] for x in binned(codes)])


def mig(codes: np.ndarray, factors: np.ndarray) -> float:
    table = information(codes, factors)
    entropy = np.array([mutual_info_score(v, v) for v in factors.T])
    ordered = np.sort(table, axis=0)
    return float(np.mean((ordered[-1] - ordered[-2]) / entropy))


def modularity(codes: np.ndarray, factors: np.ndarray) -> float:
    squared = information(codes, factors) ** 2
    best = squared.max(1)
    others = squared.sum(1) - best
    informative = best > 1e-20  # rounding leaves 1e-15 nats of a latent that stands still
    shares = 1 - others / np.where(informative, best * (factors.shape[1] - 1), 1)
    return float(np.mean(np.where(informative, shares, 0)))


def concentration(importance: np.ndarray) -> tuple[float, float]:
    """One minus the entropy of the shares of each row: weighted by the rows' sums, and mean."""
    share = importance / np.maximum(importance.sum(1, keepdims=True), 1e-300)
    rows = 1 - entropy(share + 1e-11, base=share.shape[1], axis=1)
    return float(importance.sum(1) @ rows / importance.sum()), float(rows.mean())


def dci_with(make: Callable[[], object], codes: np.ndarray, factors: np.ndarray) -> dict:
    """Disentanglement, completeness and accuracy of a tree learner, as in disentanglement_lib."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    models = [make().fit(train, label) for label in labels.T]
    importance = np.stack([model.feature_importances_ for model in models], axis=1)
    right = [
        model.score(test, test_label) for model, test_label in zip(models, tested.T, strict=True)
    ]
    for model, label in zip(models, labels.T, strict=True):
        model.score(train, label)
    return {
        "disentanglement": concentration(importance)[0],
        "completeness": concentration(importance.T)[0],
        "informativeness": float(np.mean(right)),
    }


BOOSTED: dict[bytes, dict[str, float]] = {}
"""Scores by exact boosting of some codes, to compare two scores with."""


def boosted(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    key = codes.tobytes() + factors.tobytes()
    if key not in BOOSTED:
        BOOSTED[key] = dci_with(exact_boosting, codes, factors)
    return BOOSTED[key]


def exact_boosting() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(random_state=0)


def dci(codes: np.ndarray, factors: np.ndarray) -> float:
    return dci_with(exact_boosting, codes, factors)["disentanglement"]


DEPTHS = (1, 2, 3, 4, 8, 10, 12, 14, 16, 18, 20, 32)


def dcies(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Eastwood et al. (2023): forests of growing depth, regressions, as no factor is categorical.

    A loss of more than 1, which an R² below 0 would be, is left as it is.
    """
    (train, test), (labels, tested) = cut(codes), cut(factors)
    losses, importances = np.zeros((len(DEPTHS), factors.shape[1])), []
    for row, depth in enumerate(DEPTHS):
        columns = []
        for k, (label, test_label) in enumerate(zip(labels.T, tested.T, strict=True)):
            model = RandomForestRegressor(max_depth=depth, random_state=0).fit(train, label)
            losses[row, k] = 1 - model.score(test, test_label)
            columns.append(model.feature_importances_)
        importances.append(np.stack(columns, axis=1))
    best = losses.mean(1).argmin()
    lowest = np.minimum.accumulate(losses, axis=0)
    area = np.sum(
        np.diff(DEPTHS)[:, None] * (lowest[1:] + lowest[:-1] - 2 * lowest[-1]) / 2, axis=0
    )
    return {
        "explicitness": float(np.mean(1 - 2 * area / (DEPTHS[-1] - DEPTHS[0]))),
        "informativeness": float(1 - losses[best].mean()),
        "disentanglement": concentration(importances[best])[0],
        "completeness": concentration(importances[best].T)[0],
        "size": factors.shape[1] / codes.shape[1],
    }


FEATURES = (16, 32, 64, 128, 256, 512, 1024)


def dcies_rff(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Eastwood et al. (2023): linear regressions on growing numbers of random Fourier features.

    Their code draws the frequencies and trains by steps. The frequencies here are those of dislab,
    and the regressions are solved.
    """
    (train, test), (labels, tested) = cut(codes), cut(factors)
    units = StandardScaler().fit(train)
    losses = np.zeros((len(FEATURES), factors.shape[1]))
    for row, count in enumerate(FEATURES):
        cycles = 0.08 * host_generator(0).normal(size=(count // 2, codes.shape[1]))
        angles = [2 * np.pi * units.transform(part) @ cycles.T for part in (train, test)]
        train_features, test_features = (
            np.hstack([np.cos(angle), np.sin(angle)]) for angle in angles
        )
        for k, (label, test_label) in enumerate(zip(labels.T, tested.T, strict=True)):
            unit = StandardScaler().fit(label[:, None])
            model = make_pipeline(StandardScaler(), Ridge()).fit(
                train_features, unit.transform(label[:, None])
            )
            losses[row, k] = 1 - model.score(test_features, unit.transform(test_label[:, None]))
    lowest = np.minimum.accumulate(losses, axis=0)
    sizes = np.log(np.array(FEATURES) + 1)
    area = np.trapezoid(lowest - lowest[-1], sizes, axis=0)
    return {
        "explicitness": float(np.mean(1 - 2 * area / (sizes[-1] - sizes[0]))),
        "informativeness": float(1 - losses.mean(1).min()),
        "size": factors.shape[1] / codes.shape[1],
    }


def mcc_linear(ranks: bool, codes: np.ndarray, factors: np.ndarray) -> float:
    """Khemakhem et al. (2020): canonical variates of the first images, matched on the last."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    pairs = min(codes.shape[1], factors.shape[1])
    code_side, right = CCA(pairs, max_iter=5000).fit(train, labels).transform(test, tested)
    if ranks:  # variates that are equal but for rounding have the same rank
        code_side, right = (rankdata(side.round(6), axis=0) for side in (code_side, right))
    table = np.abs(np.corrcoef(code_side.T, right.T))[:pairs, pairs:]
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].mean())


def regressed_blocks(
    make: Callable[[], object], most: int, codes: np.ndarray, factors: np.ndarray
) -> dict[str, float]:
    """Von Kügelgen et al. (2021): R² of each factor; Lachapelle et al. (2022): its root."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    units = StandardScaler().fit(train)
    shares = []
    for train_label, test_label in zip(labels.T[:, :, None], tested.T[:, :, None], strict=True):
        unit = StandardScaler().fit(train_label)
        model = make().fit(units.transform(train)[:most], unit.transform(train_label)[:most])
        shares.append(r2_score(unit.transform(test_label), model.predict(units.transform(test))))
    return {"mcc": float(np.mean(np.sqrt(np.maximum(shares, 0)))), "r2": float(np.mean(shares))}


def kernel_ridge() -> GridSearchCV:
    grid = {"alpha": [1.0, 0.1, 1e-2, 1e-3], "gamma": np.logspace(-2, 2, 4)}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)


def blocks(
    name: str, make: Callable[[], object], most: int, codes: np.ndarray, factors: np.ndarray
) -> dict[str, float]:
    shares = regressed_blocks(make, most, codes, factors)
    return {f"block_{block}_{name}": value for block, value in shares.items()}


def dci_lasso(scale: bool, codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Eastwood & Williams; without scale, on centred codes in random order, Montero et al."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    spread = np.where(train.std(0) > 0, train.std(0), 1) if scale else 1.0
    columns, errors = [], []
    for label, test_label in zip(labels.T, tested.T, strict=True):
        model = Lasso(alpha=0.02, selection="cyclic" if scale else "random", random_state=0)
        model.fit((train - train.mean(0)) / spread, (label - label.mean()) / label.std())
        predicted = model.predict((test - train.mean(0)) / spread) * label.std() + label.mean()
        columns.append(np.abs(model.coef_))
        errors.append(np.sqrt(np.mean((predicted - test_label) ** 2)) / test_label.std())
    importance = np.stack(columns, axis=1)
    return {
        "disentanglement": concentration(importance)[0],
        "completeness_unweighted": concentration(importance.T)[1],
        "informativeness_nrmse": float(np.mean(errors)),
    }


def mig_sup(codes: np.ndarray, factors: np.ndarray) -> float:
    """Li et al. (2020): the gap of each latent's two best factors, in shares of their entropies."""
    entropies = np.array([mutual_info_score(v, v) for v in factors.T])
    ordered = np.sort(information(codes, factors) / entropies, axis=1)
    return float(np.mean(ordered[:, -1] - ordered[:, -2]))


def jemmig(codes: np.ndarray, factors: np.ndarray) -> float:
    """Do & Tran (2020), of codes: joint entropy less the gap, in units of its bound, turned."""
    table, bins = information(codes, factors), binned(codes)
    shares = []
    for v, column in zip(factors.T, table.T, strict=True):
        best = int(column.argmax())
        entropy, alone = mutual_info_score(v, v), mutual_info_score(bins[best], bins[best])
        gap = column[best] - np.sort(column)[-2]
        shares.append(1 - (entropy + alone - column[best] - gap) / (entropy + np.log(20)))
    return float(np.mean(shares))


def dcimig(codes: np.ndarray, factors: np.ndarray) -> float:
    """Sepliarskaia et al. (2019)."""
    table = information(codes, factors)
    reached = np.zeros(factors.shape[1])
    for row in table:
        second, first = np.sort(row)[-2:]
        reached[row.argmax()] = max(reached[row.argmax()], first - second)
    return float(reached.sum() / sum(mutual_info_score(v, v) for v in factors.T))


def irs(codes: np.ndarray, factors: np.ndarray) -> float:
    """Suter et al. (2019) as in disentanglement_lib: factors in 20 bins, 99th percentile."""
    moving = codes[:, codes.var(0) > 0]
    largest = np.abs(moving - moving.mean(0)).max(0)
    ratios = []
    for v in binned(factors):
        groups = [moving[v == value] for value in np.unique(v)]
        apart = [np.quantile(np.abs(group - group.mean(0)), 0.99, axis=0) for group in groups]
        ratios.append(np.mean(apart, axis=0) / largest)
    return float(np.average(1 - np.min(ratios, axis=0), weights=largest))


def mcc(table: np.ndarray) -> float:
    return float(table[linear_sum_assignment(-table)].sum() / table.shape[1])


def mcc_pearson(codes: np.ndarray, factors: np.ndarray) -> float:
    """Hyvärinen & Morioka (2016)."""
    moving = codes[:, codes.std(0) > 0]
    return mcc(np.abs(np.corrcoef(moving.T, factors.T)[: moving.shape[1], moving.shape[1] :]))


def mcc_spearman(codes: np.ndarray, factors: np.ndarray) -> float:
    moving = codes[:, codes.std(0) > 0]
    correlations = np.atleast_2d(spearmanr(moving, factors).statistic)
    return mcc(np.abs(correlations[: moving.shape[1], moving.shape[1] :]))


def omes(codes: np.ndarray, factors: np.ndarray) -> float:
    """Dapueto et al. (2024), with all pairs, and negative correlations as 0."""
    moving = codes[:, codes.std(0) > 0.05]
    columns = []
    for factor in range(factors.shape[1]):
        others = np.delete(factors, factor, axis=1)
        groups = np.unique(others, axis=0, return_inverse=True)[1].ravel()
        rows = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
        pairs = np.array([pair for group in rows for pair in permutations(group, 2)])
        left, right = pairs[factors[pairs[:, 0], factor] != factors[pairs[:, 1], factor]].T
        columns.append([1 - max(np.corrcoef(z[left], z[right])[0, 1], 0) for z in moving.T])
    table = np.array(columns).T
    scores = []
    for factor, column in enumerate(table.T):
        overlap = [1 - np.abs(np.eye(len(row))[factor] - row).mean() for row in table]
        several = [1 - np.abs(unit - column).mean() for unit in np.eye(len(column))]
        both = 0.5 * np.array(overlap) + 0.5 * np.array(several)
        scores.append(np.average(both * column, weights=column))
    return float(np.mean(scores))


def rdc(codes: np.ndarray, factors: np.ndarray) -> float:
    """Lopez-Paz et al. (2013): sines of ranks and 1, with new weights for every pair."""
    generator = np.random.default_rng(0)

    def basis(column: np.ndarray) -> np.ndarray:
        ranks = np.stack([rankdata(column) / len(column), np.ones(len(column))], axis=1)
        waves = np.sin(1 / 6 / 2 * ranks @ generator.normal(size=(2, 20)))
        left, triangle, _ = scipy.linalg.qr(waves - waves.mean(0), mode="economic", pivoting=True)
        return left[:, np.abs(np.diag(triangle)) > 1e-7 * np.linalg.norm(waves, axis=0).max()]

    moving = codes[:, codes.std(0) > 0]
    table = [
        [np.linalg.svd(basis(z).T @ basis(v), compute_uv=False)[0] for v in factors.T]
        for z in moving.T
    ]
    return mcc(np.array(table))


def shares_of(table: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Information of each factor (row) and latent in shares of the factor's entropy."""
    return table / np.array([[mutual_info_score(v, v)] for v in factors.T])


def modular_and_compact(table: np.ndarray) -> list[float]:
    """InfoM and InfoC of Hsu et al. (2023) from shares of information (factor, latent)."""
    scores = []
    for matrix in (table, table.T):
        best = matrix.max(0) / np.maximum(matrix.sum(0), 1e-300)
        scores.append(float((best.mean() - 1 / len(matrix)) / (1 - 1 / len(matrix))))
    return scores


def explicit(inputs: np.ndarray, factors: np.ndarray) -> float:
    """InfoE of Hsu et al. (2023), whose regression weighs values alike."""
    shares = []
    for v in factors.T:
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100)
        loss = log_loss(v, model.fit(inputs, v).predict_proba(inputs))
        null = np.log(len(np.unique(v)))
        shares.append((null - loss) / null)
    return float(np.mean(shares))


def infomec(estimator: str, codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Hsu et al. (2023) for continuous latents; with bins their table is that of MIG."""
    span = np.ptp(codes, axis=0)
    moving = codes[:, span > span.max() / 20]
    if estimator == "knn":
        scores = partial(mutual_info_classif, n_neighbors=10, random_state=0)
        table = [[scores(x[:, None] / x.std(), v)[0] for x in moving.T] for v in factors.T]
    else:
        table = information(moving, factors).T
    modular, compact = modular_and_compact(shares_of(np.array(table), factors))
    scaled = StandardScaler().fit_transform(codes)
    names = (f"infom_{estimator}", f"infoc_{estimator}", "infoe")
    return dict(zip(names, (modular, compact, explicit(scaled, factors)), strict=True))


def infomec_discrete(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Hsu et al. (2023) for latents of few codes: each code counts, the regression sees one-hot."""
    numbers = [np.unique(x, return_inverse=True)[1] for x in codes.T if np.ptp(x) > 0]
    table = np.array([[mutual_info_score(v, x) for x in numbers] for v in factors.T])
    modular, compact = modular_and_compact(shares_of(table, factors))
    inputs = OneHotEncoder().fit_transform(codes)
    return {
        "infom_discrete": modular,
        "infoc_discrete": compact,
        "infoe_discrete": explicit(inputs, factors),
    }


def five_models(codes: np.ndarray) -> list[np.ndarray]:
    """Codes of five models that agree but for noise, and order and sign of the latents."""
    rng, (images, latents) = np.random.default_rng(0), codes.shape
    return [
        codes[:, rng.permutation(latents)] * rng.choice([-1, 1], size=latents)
        + 0.1 * rng.normal(size=(images, latents))
        for _ in range(5)
    ]


class UDR:
    """Mean UDR of five models, all of whose latents are informative, as a metric of one set."""

    def __init__(self, space: FactorSpace) -> None:
        self.space = space

    def update(self, codes: torch.Tensor, factors: torch.Tensor) -> None:
        """Makes the models from codes."""
        self.models = five_models(codes.numpy())

    def compute(self) -> dict[str, torch.Tensor]:
        """UDR in the form of the authors' code, the mean over the models."""
        kl = [np.ones(kind.shape[1]) for kind in self.models]
        return {
            f"udr_{kind}_averaged": torch.tensor(
                udr(self.models, kl, kind, "averaged").scores.mean()
            )
            for kind in ("lasso", "spearman")
        }


def plain_udr(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Duan et al. (2020) in the words of the authors' code."""
    models = [StandardScaler().fit_transform(rows) for rows in five_models(codes)]
    scores = {}
    for name in ("lasso", "spearman"):
        pairs = np.full((5, 5), np.nan)
        for i, j in permutations(range(5), 2):
            if name == "lasso":
                table = np.abs(Lasso(alpha=0.1).fit(models[i], models[j]).coef_).T
            else:
                count = models[i].shape[1]
                table = np.abs(spearmanr(models[i], models[j]).statistic[:count, count:])
            sides = [
                (rows.max(0) ** 2 / np.maximum(rows.sum(0), 1e-300)) for rows in (table, table.T)
            ]
            pairs[i, j] = np.mean([rows.mean() for rows in sides])
        scores[f"udr_{name}_averaged"] = float(np.nanmedian(pairs, axis=0).mean())
    return scores


def downstream(make: Callable[[], object], codes: np.ndarray, factors: np.ndarray) -> float:
    """Accuracy from 1,000 labels, the mean over factors, on the last 1,000 images."""
    pairs = zip(factors[:1000].T, factors[-1000:].T, strict=True)
    models = [(make().fit(codes[:1000], label), test_label) for label, test_label in pairs]
    return float(np.mean([model.score(codes[-1000:], test_label) for model, test_label in models]))


def cross_validated() -> LogisticRegressionCV:
    return LogisticRegressionCV(Cs=10, cv=KFold(5))


def sap(table: np.ndarray) -> float:
    ordered = np.sort(table, axis=0)
    return float(np.mean(ordered[-1] - ordered[-2]))


def sap_r2(codes: np.ndarray, factors: np.ndarray) -> float:
    table = np.zeros((codes.shape[1], factors.shape[1]))
    moving = codes.var(0, ddof=1) > 1e-12
    table[moving] = [[np.corrcoef(x, v)[0, 1] ** 2 for v in factors.T] for x in codes[:, moving].T]
    return sap(table)


def sap_svc(codes: np.ndarray, factors: np.ndarray) -> float:
    (train, test), (labels, tested) = cut(codes), cut(factors)
    table = np.empty((codes.shape[1], factors.shape[1]))
    for latent in range(codes.shape[1]):
        for factor in range(factors.shape[1]):
            model = LinearSVC(C=0.01, class_weight="balanced", random_state=0)
            model.fit(train[:, [latent]], labels[:, factor])
            table[latent, factor] = model.score(test[:, [latent]], tested[:, factor])
    return sap(table)


def explicitness(codes: np.ndarray, factors: np.ndarray) -> float:
    (train, test), (labels, tested) = cut(codes), cut(factors)
    areas = []
    for label, test_label in zip(labels.T, tested.T, strict=True):
        model = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(train, label)
        scores = model.decision_function(test)
        truth = label_binarize(test_label, classes=model.classes_)
        values = range(truth.shape[1])
        areas.append(np.mean([roc_auc_score(truth[:, k], scores[:, k]) for k in values]))
    return float(np.mean(areas))


def explicitness_multinomial(codes: np.ndarray, factors: np.ndarray) -> float:
    """disentanglement_lib: one regression a factor, on standardised codes; its probabilities."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    middle, spread = train.mean(0), np.where(train.std(0) > 0, train.std(0), 1)
    areas = []
    for label, test_label in zip(labels.T, tested.T, strict=True):
        model = LogisticRegression(max_iter=1000).fit((train - middle) / spread, label)
        probabilities = model.predict_proba((test - middle) / spread)
        truth = label_binarize(test_label, classes=model.classes_)
        areas.append(
            np.mean([roc_auc_score(t, p) for t, p in zip(truth.T, probabilities.T, strict=True)])
        )
    return float(np.mean(areas))


def rows_by_value(factors: np.ndarray) -> list[list[np.ndarray]]:
    return [[np.flatnonzero(v == value) for value in range(v.max() + 1)] for v in factors.T]


def factor_vae_score(codes: np.ndarray, factors: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    codes = codes[:, codes.std(0, ddof=1) >= 0.05]
    spread, rows_of_factor = codes.var(0, ddof=1), rows_by_value(factors)
    tables = np.zeros((2, codes.shape[1], factors.shape[1]))
    for part, votes in enumerate((VOTES_TRAIN, VOTES_TEST)):
        for _ in range(votes):
            factor = int(rng.integers(factors.shape[1]))
            rows = rows_of_factor[factor][factors[rng.integers(len(factors)), factor]]
            batch = codes[rows[rng.integers(len(rows), size=SAMPLES)]]
            tables[part, np.argmin(batch.var(0, ddof=1) / spread), factor] += 1
    train, test = tables
    return float(test[np.arange(len(test)), train.argmax(1)].sum() / test.sum())


def beta_vae_score(codes: np.ndarray, factors: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    rows_of_factor = rows_by_value(factors)
    points, labels = [], []
    for _ in range(VOTES_TRAIN + VOTES_TEST):
        factor = int(rng.integers(factors.shape[1]))
        first = rng.integers(len(codes), size=SAMPLES)
        shared = [rows_of_factor[factor][value] for value in factors[first, factor]]
        places = rng.random(SAMPLES)
        second = [
            rows[int(fraction * len(rows))] for rows, fraction in zip(shared, places, strict=True)
        ]
        points.append(np.abs(codes[first] - codes[second]).mean(0))
        labels.append(factor)
    x, y = np.array(points), np.array(labels)
    model = LogisticRegression(max_iter=1000).fit(x[:VOTES_TRAIN], y[:VOTES_TRAIN])
    return float(model.score(x[VOTES_TRAIN:], y[VOTES_TRAIN:]))


def dmig(codes: np.ndarray, factors: np.ndarray) -> float:
    """Watcharasupat & Lerch (2021), with latents assigned to factors instead of trained."""
    table = information(codes, factors)
    latents, owned = linear_sum_assignment(table, maximize=True)
    shares = []
    for i, (v, column) in enumerate(zip(factors.T, table.T, strict=True)):
        first, second = np.argsort(-column, kind="stable")[:2]
        others = [f for z, f in zip(latents, owned, strict=True) if z == second and f != i]
        known = sum(mutual_info_score(v, factors[:, f]) for f in others)
        shares.append((column[first] - column[second]) / (mutual_info_score(v, v) - known))
    return float(np.minimum(shares, 1).mean())


def gaussian_total_correlation(codes: np.ndarray, factors: np.ndarray) -> float:
    covariance = np.cov(codes.T)
    return float(0.5 * (np.log(np.diag(covariance)).sum() - np.linalg.slogdet(covariance)[1]))


def wasserstein_correlation(codes: np.ndarray, factors: np.ndarray) -> float:
    covariance = np.cov(codes.T)
    root = np.diag(np.sqrt(np.diag(covariance)))
    middle = scipy.linalg.sqrtm(root @ covariance @ root)
    return float(2 * np.trace(covariance) - 2 * np.trace(np.real(middle)))


def mean_pairwise_mi(codes: np.ndarray, factors: np.ndarray) -> float:
    table = information(codes, np.stack(binned(codes), axis=1))
    return float(table[~np.eye(len(table), dtype=bool)].mean())


PUBLISHED: dict[str, Procedure] = {
    "mig": mig,
    "dci_hgbt": dci,
    "sap_r2": sap_r2,
    "sap_svc": sap_svc,
    "modularity": modularity,
    "explicitness": explicitness,
    "factor_vae_score": factor_vae_score,
    "beta_vae_score": beta_vae_score,
    "gaussian_total_correlation": gaussian_total_correlation,
    "wasserstein_correlation": wasserstein_correlation,
    "mean_pairwise_mi": mean_pairwise_mi,
}
"""By the names of the default set."""


def by_name(name: str, procedure: Procedure) -> Several:
    """A procedure of one number as a procedure of results by name."""
    return lambda codes, factors: {name: procedure(codes, factors)}


def prefixed(prefix: str, procedure: Several) -> Several:
    return lambda codes, factors: {
        f"{prefix}_{name}": value for name, value in procedure(codes, factors).items()
    }


SIZES = (3, 6, 10, 8, 8)
LATENTS, IMAGES = 10, 3000
MANY = (3, 25, 40)
"""Numbers of values of the kind `many`: more than the 20 bins of scores that count."""
KINDS = ("perfect", "rotated", "noisy", "merged", "dead", "many")
FOREST = partial(RandomForestClassifier, min_samples_leaf=5, random_state=0)
COMPARED: dict[str, tuple[Callable[..., object], Several]] = {
    "mig": (MIG, by_name("mig", mig)),
    "mig_sup": (MIGSup, by_name("mig_sup", mig_sup)),
    "jemmig": (JEMMIG, by_name("jemmig", jemmig)),
    "dcimig": (DCIMIG, by_name("dcimig", dcimig)),
    "dmig": (DMIG, by_name("dmig", dmig)),
    "modularity": (Modularity, by_name("modularity", modularity)),
    "explicitness": (Explicitness, by_name("explicitness", explicitness)),
    "explicitness_multinomial": (
        partial(Explicitness, classifier="multinomial"),
        by_name("explicitness_multinomial", explicitness_multinomial),
    ),
    "omes": (OMES, by_name("omes", omes)),
    "rdc": (RDC, by_name("rdc", rdc)),
    "sap_r2": (SAP, by_name("sap_r2", sap_r2)),
    "sap_svc": (partial(SAP, predictor="svc"), by_name("sap_svc", sap_svc)),
    "irs": (IRS, by_name("irs", irs)),
    "mcc_pairs": (partial(MCC, average="pairs"), by_name("mcc_pairs_pearson", mcc_pearson)),
    "mcc_pearson": (MCC, by_name("mcc_pearson", mcc_pearson)),
    "mcc_spearman": (partial(MCC, correlation="spearman"), by_name("mcc_spearman", mcc_spearman)),
    "mcc_linear": (
        partial(MCC, alignment="linear"),
        by_name("mcc_linear_pearson", partial(mcc_linear, False)),
    ),
    "mcc_linear_spearman": (
        partial(MCC, correlation="spearman", alignment="linear"),
        by_name("mcc_linear_spearman", partial(mcc_linear, True)),
    ),
    "block_mcc_linear": (BlockMCC, partial(blocks, "linear", LinearRegression, IMAGES)),
    "block_mcc_kernel": (
        partial(BlockMCC, regression="kernel"),
        partial(blocks, "kernel", kernel_ridge, 1000),
    ),
    "infomec_knn": (InfoMEC, partial(infomec, "knn")),
    "infomec_bins": (partial(InfoMEC, estimator="bins"), partial(infomec, "bins")),
    "infomec_discrete": (partial(InfoMEC, estimator="discrete"), infomec_discrete),
    "factor_vae_score": (FactorVAEScore, by_name("factor_vae_score", factor_vae_score)),
    "beta_vae_score": (BetaVAEScore, by_name("beta_vae_score", beta_vae_score)),
    "dci_gbt": (
        partial(DCI, learner="gbt"),
        prefixed("dci_gbt", boosted),
    ),
    "dci_hgbt": (DCI, prefixed("dci_hgbt", boosted)),
    "dci_rf": (partial(DCI, learner="rf"), prefixed("dci_rf", partial(dci_with, FOREST))),
    "dci_lasso": (
        partial(DCI, learner="lasso"),
        prefixed("dci_lasso", partial(dci_lasso, True)),
    ),
    "dci_lassocv": (
        partial(DCI, learner="lassocv"),
        prefixed("dci_lassocv", partial(dci_lasso, False)),
    ),
    "dcies_rf": (DCIES, prefixed("dcies_rf", dcies)),
    "dcies_rff": (partial(DCIES, probe="rff"), prefixed("dcies_rff", dcies_rff)),
    "downstream_logistic": (
        partial(DownstreamAccuracy, labels=(1000,), tested=1000),
        by_name("downstream_logistic_1000", partial(downstream, cross_validated)),
    ),
    "downstream_hgbt": (
        partial(DownstreamAccuracy, classifier="hgbt", labels=(1000,), tested=1000),
        by_name("downstream_hgbt_1000", partial(downstream, exact_boosting)),
    ),
    "gaussian_total_correlation": (
        GaussianTotalCorrelation,
        by_name("gaussian_total_correlation", gaussian_total_correlation),
    ),
    "wasserstein_correlation": (
        WassersteinCorrelation,
        by_name("gaussian_wasserstein_correlation", wasserstein_correlation),
    ),
    "mean_pairwise_mi": (MeanPairwiseMI, by_name("mean_pairwise_mi", mean_pairwise_mi)),
    "udr": (UDR, plain_udr),
}
"""Every score that published code has, and the procedure that gives the same names.

Keys are those of `SCORES` in `tests/metrics/laws.py`, and `udr`, which scores several models."""
UNPUBLISHED: frozenset[str] = frozenset({"modularity_active"})
"""Keys of scores that no code was published for."""
ROUNDED: frozenset[str] = frozenset({"infomec_discrete"})
"""Scores of latents that take few codes: codes are rounded to halves of a deviation first."""


def compare(
    key: str, codes: torch.Tensor, factors: np.ndarray, sizes: tuple[int, ...] = SIZES
) -> dict[str, list]:
    """Each result of dislab and of the published procedure; None where that gives no number."""
    build, procedure = COMPARED[key]
    codes = (2 * codes).round() / 2 if key in ROUNDED else codes
    metric = build(space_of(sizes))
    metric.update(codes, torch.from_numpy(factors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # published procedures stop before their optimum
        values, published = metric.compute(), procedure(codes.numpy(), factors)
    return {
        name: [values[name].item(), float(value) if np.isfinite(value) else None]
        for name, value in published.items()
    }


HEADER = ["result", *KINDS, "largest difference"]


def rows_of(results: dict[str, dict]) -> list[list[str]]:
    """Each result with the difference on every kind of codes, and the largest one."""
    rows = []
    for by_kind in results.values():
        for name in next(iter(by_kind.values()), {}):
            cells, apart = [], []
            for kind in KINDS:
                if kind not in by_kind:
                    cells.append("")
                    continue
                score, published = by_kind[kind][name]
                gap = "none" if published is None else f"{score - published:+.3f}"
                cells.append(f"{score:.3f} ({gap})")
                apart.append(0.0 if published is None else abs(score - published))
            rows.append([f"`{name}`", *cells, f"{max(apart):.3f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--scores", nargs="+", choices=list(COMPARED), default=list(COMPARED))
    default = Path(__file__).parent / "results" / "published_scores.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for kind in arguments.kinds:
        sizes = MANY if kind == "many" else SIZES
        factors = draw_factors(sizes, IMAGES, 0)
        codes = standard_codes(factors, LATENTS, 0)["noisy" if kind == "many" else kind]
        for key in arguments.scores:
            scores = compare(key, codes, factors, sizes)
            print(kind, scores, flush=True)
            report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
            results = report.get("results", {})
            results = {score: results.get(score, {}) for score in COMPARED}
            results[key][kind] = scores
            report = {
                "command": "python benchmarks/published_scores.py",
                "size": {"images": IMAGES, "latents": LATENTS, "values": SIZES, "many": MANY},
                **provenance(),
                "results": results,
                "tables": {"compared": {"header": HEADER, "rows": rows_of(results)}},
            }
            arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
