"""The scores as their papers and published code compute them, and how far dislab's differ.

python benchmarks/published_scores.py                  all scores: some minutes
python benchmarks/published_scores.py --kinds perfect  one kind of codes
python benchmarks/published_scores.py --scores MIG     some of the scores

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
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from collections.abc import Callable

import numpy as np
import scipy.linalg
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy, spearmanr
from sklearn.cross_decomposition import CCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import mutual_info_classif
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, mutual_info_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler, label_binarize
from sklearn.svm import LinearSVC

from dislab.metrics import (
    DCI,
    DCIES,
    DCIMIG,
    IRS,
    JEMMIG,
    MCC,
    MIG,
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
from standard_codes import draw_factors, provenance, space_of, standard_codes

Procedure = Callable[[np.ndarray, np.ndarray], float]
Several = Callable[[np.ndarray, np.ndarray], dict[str, float]]

VOTES_TRAIN, VOTES_TEST, SAMPLES = 10_000, 5_000, 64


def cut(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two thirds to learn from and the rest to test on."""
    place = len(rows) - round(len(rows) / 3)
    return rows[:place], rows[place:]


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
    told = best > 1e-20  # rounding leaves 1e-15 nats of a latent that stands still
    shares = 1 - others / np.where(told, best * (factors.shape[1] - 1), 1)
    return float(np.mean(np.where(told, shares, 0)))


def concentration(importance: np.ndarray) -> tuple[float, float]:
    """One minus the entropy of the shares of each row: weighted by the rows' sums, and mean."""
    share = importance / np.maximum(importance.sum(1, keepdims=True), 1e-300)
    rows = 1 - entropy(share + 1e-11, base=share.shape[1], axis=1)
    return float(importance.sum(1) @ rows / importance.sum()), float(rows.mean())


def dci_with(make: Callable[[], object], codes: np.ndarray, factors: np.ndarray) -> dict:
    """Disentanglement, completeness and accuracy of a tree learner, as in disentanglement_lib."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    models = [make().fit(train, own) for own in labels.T]
    importance = np.stack([model.feature_importances_ for model in models], axis=1)
    right = [model.score(test, other) for model, other in zip(models, tested.T, strict=True)]
    for model, own in zip(models, labels.T, strict=True):
        model.score(train, own)
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
        for k, (own, other) in enumerate(zip(labels.T, tested.T, strict=True)):
            model = RandomForestRegressor(max_depth=depth, random_state=0).fit(train, own)
            losses[row, k] = 1 - model.score(test, other)
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


def mcc_linear(codes: np.ndarray, factors: np.ndarray) -> float:
    """Khemakhem et al. (2020): canonical variates of the first images, matched on the last."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    pairs = min(codes.shape[1], factors.shape[1])
    left, right = CCA(pairs, max_iter=5000).fit(train, labels).transform(test, tested)
    table = np.abs(np.corrcoef(left.T, right.T))[:pairs, pairs:]
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].mean())


def regressed_blocks(
    make: Callable[[], object], most: int, codes: np.ndarray, factors: np.ndarray
) -> dict[str, float]:
    """Von Kügelgen et al. (2021): R² of each factor; Lachapelle et al. (2022): its root."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    units = StandardScaler().fit(train)
    shares = []
    for own, other in zip(labels.T[:, :, None], tested.T[:, :, None], strict=True):
        unit = StandardScaler().fit(own)
        model = make().fit(units.transform(train)[:most], unit.transform(own)[:most])
        shares.append(r2_score(unit.transform(other), model.predict(units.transform(test))))
    return {"mcc": float(np.mean(np.sqrt(np.maximum(shares, 0)))), "r2": float(np.mean(shares))}


def kernel_ridge() -> GridSearchCV:
    grid = {"alpha": [1.0, 0.1, 1e-2, 1e-3], "gamma": np.logspace(-2, 2, 4)}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)


def blocks(
    name: str, make: Callable[[], object], most: int, codes: np.ndarray, factors: np.ndarray
) -> dict[str, float]:
    found = regressed_blocks(make, most, codes, factors)
    return {f"block_{one}_{name}": value for one, value in found.items()}


def dci_lasso(scale: bool, codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Eastwood & Williams; without scale, on centred codes in random order, Montero et al."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    spread = np.where(train.std(0) > 0, train.std(0), 1) if scale else 1.0
    columns, errors = [], []
    for own, other in zip(labels.T, tested.T, strict=True):
        model = Lasso(alpha=0.02, selection="cyclic" if scale else "random", random_state=0)
        model.fit((train - train.mean(0)) / spread, (own - own.mean()) / own.std())
        found = model.predict((test - train.mean(0)) / spread) * own.std() + own.mean()
        columns.append(np.abs(model.coef_))
        errors.append(np.sqrt(np.mean((found - other) ** 2)) / other.std())
    importance = np.stack(columns, axis=1)
    return {
        "disentanglement": concentration(importance)[0],
        "completeness_unweighted": concentration(importance.T)[1],
        "informativeness_nrmse": float(np.mean(errors)),
    }


def mig_sup(codes: np.ndarray, factors: np.ndarray) -> float:
    """Li et al. (2020): the gap of each latent's two best factors, in shares of their entropies."""
    own = np.array([mutual_info_score(v, v) for v in factors.T])
    ordered = np.sort(information(codes, factors) / own, axis=1)
    return float(np.mean(ordered[:, -1] - ordered[:, -2]))


def jemmig(codes: np.ndarray, factors: np.ndarray) -> float:
    """Do & Tran (2020), of codes: joint entropy less the gap, in units of its bound, turned."""
    table, bins = information(codes, factors), binned(codes)
    shares = []
    for v, column in zip(factors.T, table.T, strict=True):
        best = int(column.argmax())
        own, alone = mutual_info_score(v, v), mutual_info_score(bins[best], bins[best])
        gap = column[best] - np.sort(column)[-2]
        shares.append(1 - (own + alone - column[best] - gap) / (own + np.log(20)))
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
    found = np.atleast_2d(spearmanr(moving, factors).statistic)
    return mcc(np.abs(found[: moving.shape[1], moving.shape[1] :]))


def infomec(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """Hsu et al. (2023) for continuous latents; their regression weighs values alike."""
    span = np.ptp(codes, axis=0)
    moving = codes[:, span > span.max() / 20]
    scores = partial(mutual_info_classif, n_neighbors=10, random_state=0)
    table = np.array([[scores(x[:, None] / x.std(), v)[0] for x in moving.T] for v in factors.T])
    table /= np.array([[mutual_info_score(v, v)] for v in factors.T])
    sources, latents = table.shape
    own = table.max(0) / np.maximum(table.sum(0), 1e-300)
    compact = table.max(1) / table.sum(1)
    still = codes.std(0) == 0
    scaled = (codes - codes.mean(0)) / np.where(still, 1, codes.std(0))
    shares = []
    for v in factors.T:
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100)
        loss = log_loss(v, model.fit(scaled, v).predict_proba(scaled))
        null = np.log(len(np.unique(v)))
        shares.append((null - loss) / null)
    return {
        "infom_knn": (own.mean() - 1 / sources) / (1 - 1 / sources),
        "infoc_knn": (compact.mean() - 1 / latents) / (1 - 1 / latents),
        "infoe": float(np.mean(shares)),
    }


def downstream(make: Callable[[], object], codes: np.ndarray, factors: np.ndarray) -> float:
    """Accuracy from 1,000 labels, the mean over factors, on the last 1,000 images."""
    pairs = zip(factors[:1000].T, factors[-1000:].T, strict=True)
    models = [(make().fit(codes[:1000], own), other) for own, other in pairs]
    return float(np.mean([model.score(codes[-1000:], other) for model, other in models]))


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
    for own, other in zip(labels.T, tested.T, strict=True):
        model = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(train, own)
        scores = model.decision_function(test)
        truth = label_binarize(other, classes=model.classes_)
        values = range(truth.shape[1])
        areas.append(np.mean([roc_auc_score(truth[:, k], scores[:, k]) for k in values]))
    return float(np.mean(areas))


def explicitness_multinomial(codes: np.ndarray, factors: np.ndarray) -> float:
    """disentanglement_lib: one regression a factor, on standardised codes; its probabilities."""
    (train, test), (labels, tested) = cut(codes), cut(factors)
    middle, spread = train.mean(0), np.where(train.std(0) > 0, train.std(0), 1)
    areas = []
    for own, other in zip(labels.T, tested.T, strict=True):
        model = LogisticRegression(max_iter=1000).fit((train - middle) / spread, own)
        found = model.predict_proba((test - middle) / spread)
        truth = label_binarize(other, classes=model.classes_)
        areas.append(np.mean([roc_auc_score(t, p) for t, p in zip(truth.T, found.T, strict=True)]))
    return float(np.mean(areas))


def rows_by_value(factors: np.ndarray) -> list[list[np.ndarray]]:
    return [[np.flatnonzero(v == value) for value in range(v.max() + 1)] for v in factors.T]


def factor_vae_score(codes: np.ndarray, factors: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    codes = codes[:, codes.std(0, ddof=1) >= 0.05]
    spread, known = codes.var(0, ddof=1), rows_by_value(factors)
    tables = np.zeros((2, codes.shape[1], factors.shape[1]))
    for part, votes in enumerate((VOTES_TRAIN, VOTES_TEST)):
        for _ in range(votes):
            factor = int(rng.integers(factors.shape[1]))
            rows = known[factor][factors[rng.integers(len(factors)), factor]]
            batch = codes[rows[rng.integers(len(rows), size=SAMPLES)]]
            tables[part, np.argmin(batch.var(0, ddof=1) / spread), factor] += 1
    train, test = tables
    return float(test[np.arange(len(test)), train.argmax(1)].sum() / test.sum())


def beta_vae_score(codes: np.ndarray, factors: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    known = rows_by_value(factors)
    points, labels = [], []
    for _ in range(VOTES_TRAIN + VOTES_TEST):
        factor = int(rng.integers(factors.shape[1]))
        first = rng.integers(len(codes), size=SAMPLES)
        shared = [known[factor][value] for value in factors[first, factor]]
        places = rng.random(SAMPLES)
        second = [rows[int(place * len(rows))] for rows, place in zip(shared, places, strict=True)]
        points.append(np.abs(codes[first] - codes[second]).mean(0))
        labels.append(factor)
    x, y = np.array(points), np.array(labels)
    model = LogisticRegression(max_iter=1000).fit(x[:VOTES_TRAIN], y[:VOTES_TRAIN])
    return float(model.score(x[VOTES_TRAIN:], y[VOTES_TRAIN:]))


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


def named(name: str, procedure: Procedure) -> Several:
    """A procedure of one number as a procedure of results by name."""
    return lambda codes, factors: {name: procedure(codes, factors)}


def prefixed(prefix: str, procedure: Several) -> Several:
    return lambda codes, factors: {
        f"{prefix}_{name}": value for name, value in procedure(codes, factors).items()
    }


SIZES = (3, 6, 10, 8, 8)
LATENTS, IMAGES = 10, 3000
KINDS = ("perfect", "rotated", "noisy", "merged", "dead")
FOREST = partial(RandomForestClassifier, min_samples_leaf=5, random_state=0)
COMPARED: dict[str, tuple[Callable[..., object], Several]] = {
    "MIG": (MIG, named("mig", mig)),
    "MIGSup": (MIGSup, named("mig_sup", mig_sup)),
    "JEMMIG": (JEMMIG, named("jemmig", jemmig)),
    "DCIMIG": (DCIMIG, named("dcimig", dcimig)),
    "Modularity": (Modularity, named("modularity", modularity)),
    "Explicitness": (Explicitness, named("explicitness", explicitness)),
    "Explicitness, multinomial": (
        partial(Explicitness, classifier="multinomial"),
        named("explicitness_multinomial", explicitness_multinomial),
    ),
    "SAP, r2": (SAP, named("sap_r2", sap_r2)),
    "SAP, svc": (partial(SAP, predictor="svc"), named("sap_svc", sap_svc)),
    "IRS": (IRS, named("irs", irs)),
    "MCC, pearson": (MCC, named("mcc_pearson", mcc_pearson)),
    "MCC, spearman": (partial(MCC, correlation="spearman"), named("mcc_spearman", mcc_spearman)),
    "MCC, linear": (partial(MCC, alignment="linear"), named("mcc_linear_pearson", mcc_linear)),
    "BlockMCC, linear": (BlockMCC, partial(blocks, "linear", LinearRegression, IMAGES)),
    "BlockMCC, kernel": (
        partial(BlockMCC, regression="kernel"),
        partial(blocks, "kernel", kernel_ridge, 1000),
    ),
    "InfoMEC": (InfoMEC, infomec),
    "FactorVAEScore": (FactorVAEScore, named("factor_vae_score", factor_vae_score)),
    "BetaVAEScore": (BetaVAEScore, named("beta_vae_score", beta_vae_score)),
    "DCI, gbt": (
        partial(DCI, learner="gbt"),
        prefixed("dci_gbt", boosted),
    ),
    "DCI, hgbt": (DCI, prefixed("dci_hgbt", boosted)),
    "DCI, rf": (partial(DCI, learner="rf"), prefixed("dci_rf", partial(dci_with, FOREST))),
    "DCI, lasso": (
        partial(DCI, learner="lasso"),
        prefixed("dci_lasso", partial(dci_lasso, True)),
    ),
    "DCI, lassocv": (
        partial(DCI, learner="lassocv"),
        prefixed("dci_lassocv", partial(dci_lasso, False)),
    ),
    "DCIES, rf": (DCIES, prefixed("dcies_rf", dcies)),
    "DownstreamAccuracy, logistic": (
        partial(DownstreamAccuracy, labels=(1000,), tested=1000),
        named("downstream_logistic_1000", partial(downstream, cross_validated)),
    ),
    "DownstreamAccuracy, hgbt": (
        partial(DownstreamAccuracy, classifier="hgbt", labels=(1000,), tested=1000),
        named("downstream_hgbt_1000", partial(downstream, exact_boosting)),
    ),
    "GaussianTotalCorrelation": (
        GaussianTotalCorrelation,
        named("gaussian_total_correlation", gaussian_total_correlation),
    ),
    "WassersteinCorrelation": (
        WassersteinCorrelation,
        named("gaussian_wasserstein_correlation", wasserstein_correlation),
    ),
    "MeanPairwiseMI": (MeanPairwiseMI, named("mean_pairwise_mi", mean_pairwise_mi)),
}
"""Every score that published code has, and the procedure that gives the same names."""
UNPUBLISHED: frozenset[str] = frozenset()
"""Class names of scores that no code was published for."""


def compare(
    key: str, codes: torch.Tensor, factors: np.ndarray, sizes: tuple[int, ...] = SIZES
) -> dict[str, list]:
    """Each result of dislab and of the published procedure; None where that gives no number."""
    build, procedure = COMPARED[key]
    metric = build(space_of(sizes))
    metric.update(codes, torch.from_numpy(factors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # published procedures stop before their optimum
        own, other = metric.compute(), procedure(codes.numpy(), factors)
    return {
        name: [own[name].item(), float(value) if np.isfinite(value) else None]
        for name, value in other.items()
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
                own, other = by_kind[kind][name]
                gap = "none" if other is None else f"{own - other:+.3f}"
                cells.append(f"{own:.3f} ({gap})")
                apart.append(0.0 if other is None else abs(own - other))
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
    factors = draw_factors(SIZES, IMAGES, 0)
    codes = standard_codes(factors, LATENTS, 0)
    for kind in arguments.kinds:
        for key in arguments.scores:
            found = compare(key, codes[kind], factors)
            print(kind, found, flush=True)
            report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
            results = report.get("results", {})
            results = {one: results.get(one, {}) for one in COMPARED}
            results[key][kind] = found
            report = {
                "command": "python benchmarks/published_scores.py",
                "size": {"images": IMAGES, "latents": LATENTS, "values": SIZES},
                **provenance(),
                "results": results,
                "tables": {"compared": {"header": HEADER, "rows": rows_of(results)}},
            }
            arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
