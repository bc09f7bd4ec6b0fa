"""A short residual network for small pictures and small budgets.

In the line of nets that the DAWNBench and airbench entries train on CIFAR-10: few, wide layers, a residual pair
where the picture is small already, the strongest response of each channel before the head. Written anew here.
"""

from torch import Tensor, nn
from torch.nn import functional

from trainer.fields import require
from trainer.models.resnet import initialise


def _layer(channels_in: int, channels_out: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel, stride, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class ResNet9(nn.Module):
    """Four convolutions, each of the last two followed by a residual pair, and a linear head called `head`."""

    def __init__(self, num_classes: int, width: int, dropout: float) -> None:
        super().__init__()
        self.stem = _layer(3, width, kernel=5, stride=2)
        self.second = _layer(width, 2 * width)
        self.third = _layer(2 * width, 4 * width)
        self.third_pair = nn.Sequential(_layer(4 * width, 4 * width), _layer(4 * width, 4 * width))
        self.fourth = _layer(4 * width, 8 * width)
        self.fourth_pair = nn.Sequential(_layer(8 * width, 8 * width), _layer(8 * width, 8 * width))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(8 * width, num_classes)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """Normalised `images` [b, 3, h, w], sides of 16 pixels or more, to logits [b, num_classes]."""
        x = functional.max_pool2d(self.second(self.stem(images)), 2)
        x = functional.max_pool2d(self.third(x), 2)
        x = x + self.third_pair(x)
        x = functional.max_pool2d(self.fourth(x), 2)
        x = x + self.fourth_pair(x)
        return self.head(self.dropout(x.amax(dim=(2, 3))))  # type: ignore[no-any-return]


def resnet9(num_classes: int, *, width: int = 64, dropout: float = 0.0) -> ResNet9:
    """ResNet-9: 7.5 M parameters at width 64 and 10 classes; for pictures of about 32 to 64 pixels."""
    require(num_classes >= 2, "num_classes", num_classes, "give at least 2")
    require(width >= 1, "model.arguments.width", width, "give at least 1")
    require(0.0 <= dropout < 1.0, "model.arguments.dropout", dropout, "give a share from 0 up to 1")
    return ResNet9(num_classes, width, dropout)
