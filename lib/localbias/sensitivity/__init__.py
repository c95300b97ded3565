r"""The sensitivity heuristic ρ: how much a method tells the words of a set apart (WEATHub, section 4.1).

For the vectors of one set, the variance (``ddof=0``) of the cosine distances of all pairs; averaged over
the four sets of a test, then over the tests:

.. math:: \rho = \operatorname{mean}_{t}\ \operatorname{mean}_{S \in \{X, Y, A, B\}}
          \operatorname{Var}_{i<j \in S}\bigl(1 - \cos(v_i, v_j)\bigr)

The paper picks the method with the largest ρ. It says how spread a method's distances are, not
whether they mean anything.
"""

from localbias.sensitivity.heuristic import distance_variance, run_sensitivity, sensitivity, summary
from localbias.sensitivity.protocols import protocol_cosines, row_cosines
from localbias.sensitivity.ranking import beside_published, concordance, rank_correlation, ranking

__all__ = [
    "beside_published",
    "concordance",
    "distance_variance",
    "protocol_cosines",
    "rank_correlation",
    "ranking",
    "row_cosines",
    "run_sensitivity",
    "sensitivity",
    "summary",
]
