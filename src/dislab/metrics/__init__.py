"""Scores of codes against the factors of the images."""

from dislab.codes.checks import ConstantFactorWarning
from dislab.factors import ContinuousFactorWarning
from dislab.metrics.array_scores import (
    DoubtfulScoresWarning,
    SkippedScoreWarning,
    evaluate,
    evaluate_fully,
)
from dislab.metrics.beta_vae_score import BetaVAEScore
from dislab.metrics.block_mcc import BlockMCC
from dislab.metrics.dci import DCI
from dislab.metrics.dcies import DCIES
from dislab.metrics.dcimig import DCIMIG
from dislab.metrics.dmig import DMIG
from dislab.metrics.downstream_accuracy import DownstreamAccuracy
from dislab.metrics.evaluation import Evaluation
from dislab.metrics.explicitness import Explicitness
from dislab.metrics.factor_vae_score import FactorVAEScore
from dislab.metrics.gaussian_total_correlation import GaussianTotalCorrelation
from dislab.metrics.info_mec import InfoMEC
from dislab.metrics.irs import IRS
from dislab.metrics.jemmig import JEMMIG
from dislab.metrics.mcc import MCC
from dislab.metrics.mean_pairwise_mi import MeanPairwiseMI
from dislab.metrics.mig import MIG
from dislab.metrics.mig_sup import MIGSup
from dislab.metrics.modularity import Modularity
from dislab.metrics.omes import OMES
from dislab.metrics.rdc import RDC
from dislab.metrics.sap import SAP
from dislab.metrics.wasserstein_correlation import WassersteinCorrelation

__all__ = [
    "DCI",
    "DCIES",
    "DCIMIG",
    "DMIG",
    "IRS",
    "JEMMIG",
    "MCC",
    "MIG",
    "OMES",
    "RDC",
    "SAP",
    "BetaVAEScore",
    "BlockMCC",
    "ConstantFactorWarning",
    "ContinuousFactorWarning",
    "DoubtfulScoresWarning",
    "DownstreamAccuracy",
    "Evaluation",
    "Explicitness",
    "FactorVAEScore",
    "GaussianTotalCorrelation",
    "InfoMEC",
    "MIGSup",
    "MeanPairwiseMI",
    "Modularity",
    "SkippedScoreWarning",
    "WassersteinCorrelation",
    "evaluate",
    "evaluate_fully",
]
