"""Estimators that are fitted again on every training set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

from sklearn import get_config
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from ..errors import DataError
from ..typing import AnyArray, Estimator, FloatArray, IntArray
from .contract import Learner, Refusal, Scores, Task

__all__ = ["RefitLearner", "declines_weights", "fit_parameters", "is_routed", "weight_name"]


class RefitLearner(Learner):
    """Estimators, one a parameter value.

    Parameters
    ----------
    estimators : sequence of estimators
    refusal : Refusal
        Why they are refitted.
    frozen : function, default=None
        Of an estimator: the one to fit in its place, with what it would take from all rows fixed, and the exactness of
        that. Asked only if they are really refitted.
    free : function, default=None
        Of an estimator: the number of its columns that no penalty holds, as far as that is known.

    Attributes
    ----------
    steps : float or None
        Steps that the solver of a fit takes, if they were counted.
    """

    def __init__(
        self,
        estimators: Sequence[Estimator],
        refusal: Refusal = Refusal("the estimator says that it is to be refitted"),  # noqa: B008  (frozen)
        frozen: Callable[[Estimator], tuple[Estimator, str]] | None = None,
        free: Callable[[Estimator], int] | None = None,
    ) -> None:
        self._given, self.refusal, self._freeze, self._free = tuple(estimators), refusal, frozen, free
        self.steps: float | None = None

    @property
    def n_values(self) -> int:
        """Number of estimators."""
        return len(self._given)

    @property
    def given(self) -> tuple[Estimator, ...]:
        """The estimators before anything is fixed in them."""
        return self._given

    def counted(self, steps: float) -> Self:
        """The same estimators, whose fits are known to take so many steps."""
        other = copy(self)
        other.steps = steps
        return other

    def because(self, reason: str) -> Self:
        """The same estimators, refitted for another reason."""
        other = copy(self)
        other.refusal = Refusal(reason)
        return other

    @cached_property
    def _frozen(self) -> list[tuple[Estimator, str]]:
        return [(each, self._exactness) if self._freeze is None else self._freeze(each) for each in self._given]

    @cached_property
    def n_free(self) -> int:
        """Columns that no penalty holds, at the value where they are most."""
        return 0 if self._free is None else max(map(self._free, self._given))

    @property
    def n_unpenalized(self) -> int:
        """The same."""
        return self.n_free

    @property
    def estimators(self) -> list[Estimator]:
        """What is fitted."""
        return [estimator for estimator, _ in self._frozen]

    @property
    def exactness(self) -> str:
        """That of the first: they differ in a parameter only."""
        return self._frozen[0][1]

    def at(self, values: Sequence[int]) -> Self:
        """The estimators at some of the values."""
        other = copy(self)
        other.__dict__.pop("_frozen", None)
        other._given = tuple(self._given[value] for value in values)
        return other

    def scores(self, task: Task) -> Scores | Refusal:
        """None, though there would be some if refits had not been the fastest."""
        if self.steps is not None:
            return Refusal('X is sparse and refits, which have none, are faster; use route="gram"')
        return super().scores(task)

    def given_transformers(self) -> Self:
        """The same estimators, marked as ones whose transformers were fitted on all rows."""
        marked = super().given_transformers()
        marked.__dict__.pop("_frozen", None)
        return marked


def fit_parameters(estimator: Any, weights: FloatArray | None, groups: IntArray | None) -> dict[str, AnyArray]:
    """What ``fit`` is given beside X and y, as `cross_validate` of scikit-learn does it.

    Groups reach splits inside an estimator only if metadata routing is enabled and something there asks for them;
    weights do not reach one that says, by ``set_fit_request``, that it wants none.
    """
    if weights is not None and declines_weights(estimator):
        weights = None
    if not is_routed(estimator):
        return {} if weights is None else {weight_name(estimator): weights}
    given: dict[str, AnyArray] = {} if weights is None else {"sample_weight": weights}
    if groups is not None and "groups" in get_routing_for_object(estimator).consumes("fit", ["groups"]):
        given["groups"] = groups
    return given


def is_routed(estimator: Any) -> bool:
    """Whether metadata routing is enabled and the estimator hands on what it gets."""
    return bool(get_config().get("enable_metadata_routing")) and isinstance(
        get_routing_for_object(estimator), MetadataRouter
    )


def declines_weights(estimator: Any) -> bool:
    """Whether metadata routing is enabled and the fit asks for no ``sample_weight``, or for one of another name."""
    if not get_config().get("enable_metadata_routing"):
        return False
    asked = _requests(get_routing_for_object(estimator), "fit")
    return bool(asked) and all(each is False or isinstance(each, str) for each in asked)


def _requests(routing: Any, method: str) -> list[bool | str | None]:
    """What every object that a method hands weights on to says of them, of those that could take them."""
    if not isinstance(routing, MetadataRouter):
        requests = getattr(routing, method).requests
        return [requests["sample_weight"]] if "sample_weight" in requests else []
    called = [(each.router, pair.callee) for _, each in routing for pair in each.mapping if pair.caller == method]
    return [request for router, callee in called for request in _requests(router, callee)]


def weight_name(estimator: object) -> str:
    """The keyword by which ``fit`` takes sample weights; a pipeline's go to its last step, a search's to its model."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_name(last)}"
    if isinstance(estimator, BaseSearchCV):
        return weight_name(estimator.estimator)
    if not has_fit_parameter(estimator, "sample_weight"):
        raise DataError(
            f"{type(estimator).__name__}.fit takes no sample_weight, so its fits cannot be weighted; leave "
            "sample_weight out, or choose an estimator that takes it."
        )
    return "sample_weight"
