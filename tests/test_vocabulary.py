"""The words of the vocabulary are the names that are understood, no more and no fewer."""

from typing import get_args

import pytest

from onefit import vocabulary
from onefit.inference.intervals import RULES
from onefit.metrics.known import LOSSES
from onefit.metrics.losses import NAMED
from onefit.metrics.predictive import OWN_LOSSES


def test_every_rule_and_every_loss_has_its_words():
    assert list(vocabulary.RULE_WORDS) == list(RULES)
    assert set(vocabulary.LOSS_WORDS) == set(NAMED) | set(LOSSES) | set(OWN_LOSSES)


@pytest.mark.parametrize(
    ("names", "literal"),
    [
        (vocabulary.ROUTES, vocabulary.RouteName),
        (vocabulary.RULE_WORDS, vocabulary.RuleName),
        (vocabulary.LOSS_WORDS, vocabulary.LossName),
        (vocabulary.SELECTION_WORDS, vocabulary.SelectionName),
        (vocabulary.CRITERIA, vocabulary.CriterionName),
        (vocabulary.TRANSFORMERS, vocabulary.Transformers),
        (vocabulary.SIMPLER, vocabulary.Simpler),
    ],
)
def test_types_have_the_same_names(names, literal):
    assert tuple(names) == get_args(literal)
