"""The costs of the fast routes side by side, for whoever plans a job without having data."""

from __future__ import annotations

from .contract import Offer
from .costs import Shape
from .gram import gram_flops, gram_work, offer_gram
from .leavetwo import leave_two_out_work
from .onestep import offer_onestep, onestep_flops, onestep_work

__all__ = ["flops_of", "offers_of", "work"]


def work(shape: Shape) -> dict[str, dict[str, float]]:
    """How often each fast route does what it does; `costs.NANOSECONDS` has what one unit takes.

    Every term is a power of the sizes, so that the cost of a system, say, is ``a q^3 + b q^2 + c``: fast for large q
    and all overhead for small q.
    """
    return {"gram": gram_work(shape), "onestep": onestep_work(shape), "leavetwo": leave_two_out_work(shape)}


def flops_of(shape: Shape) -> dict[str, float]:
    """Floating point operations of each route."""
    return {"gram": gram_flops(shape), "onestep": onestep_flops(shape), "refit": shape.refit_flops}


def offers_of(shape: Shape) -> dict[str, Offer]:
    """What the fast routes would offer for a dense design of this shape."""
    return {"gram": offer_gram(shape), "onestep": offer_onestep(shape)}
