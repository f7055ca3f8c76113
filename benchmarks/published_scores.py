"""The scores of the default set as their papers and common code compute them.

Loops over pairs of latents and factors, votes and batches, and scikit-learn's exact learners.
Images with a value are looked up in lists made once: no loop scans all images for each draw.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import label_binarize
from sklearn.svm import LinearSVC

Procedure = Callable[[np.ndarray, np.ndarray], float]

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
    return float(np.mean(1 - others / (best * (factors.shape[1] - 1))))


def dci(codes: np.ndarray, factors: np.ndarray) -> float:
    (train, test), (labels, tested) = cut(codes), cut(factors)
    columns = []
    for own, other in zip(labels.T, tested.T, strict=True):
        model = GradientBoostingClassifier(random_state=0).fit(train, own)
        columns.append(model.feature_importances_)
        model.score(train, own)
        model.score(test, other)
    importance = np.stack(columns, axis=1)
    share = importance / np.maximum(importance.sum(1, keepdims=True), 1e-300)
    terms = np.where(share > 0, share * np.log(np.where(share > 0, share, 1)), 0)
    weight = importance.sum(1) / importance.sum()
    return float(weight @ (1 + terms.sum(1) / np.log(share.shape[1])))


def sap(table: np.ndarray) -> float:
    ordered = np.sort(table, axis=0)
    return float(np.mean(ordered[-1] - ordered[-2]))


def sap_r2(codes: np.ndarray, factors: np.ndarray) -> float:
    return sap(np.array([[np.corrcoef(x, v)[0, 1] ** 2 for v in factors.T] for x in codes.T]))


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


def rows_by_value(factors: np.ndarray) -> list[list[np.ndarray]]:
    return [[np.flatnonzero(v == value) for value in range(v.max() + 1)] for v in factors.T]


def factor_vae_score(codes: np.ndarray, factors: np.ndarray) -> float:
    rng = np.random.default_rng(0)
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
