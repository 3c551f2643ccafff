"""What an error is: losses, each with the scale on which its interval is built."""

from .losses import NAMED, Classes, Loss, LossLike, find_loss, huber, nonnegative, pinball, takes_two

__all__ = ["NAMED", "Classes", "Loss", "LossLike", "find_loss", "huber", "nonnegative", "pinball", "takes_two"]
