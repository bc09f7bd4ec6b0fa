"""Residual networks after He et al. 2015 (v1.5: the stride stands in the 3x3 convolution), with a choice of stem.

The architecture is written from the paper; parameter names are this package's own.
"""

from collections.abc import Callable

from torch import Tensor, nn

from trainer.fields import require

BlockFactory = Callable[[int, int, int], nn.Module]


def _conv(channels_in: int, channels_out: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(channels_in, channels_out, kernel, stride, padding=kernel // 2, bias=False)


class Residual(nn.Module):
    """`relu(body(x) + shortcut(x))`; the shortcut is a 1x1 convolution only where shapes change."""

    def __init__(self, body: nn.Sequential, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.body = body
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Sequential(
                _conv(channels_in, channels_out, 1, stride),
                nn.BatchNorm2d(channels_out),
            )
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """`x` [b, channels_in, h, w] to [b, channels_out, h/stride, w/stride]."""
        return self.activation(self.body(x) + self.shortcut(x))  # type: ignore[no-any-return]


def _basic(channels_in: int, channels: int, stride: int) -> nn.Module:
    body = nn.Sequential(
        _conv(channels_in, channels, 3, stride),
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        _conv(channels, channels, 3),
        nn.BatchNorm2d(channels),
    )
    return Residual(body, channels_in, channels, stride)


def _bottleneck(channels_in: int, channels: int, stride: int) -> nn.Module:
    body = nn.Sequential(
        _conv(channels_in, channels, 1),
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        _conv(channels, channels, 3, stride),
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        _conv(channels, 4 * channels, 1),
        nn.BatchNorm2d(4 * channels),
    )
    return Residual(body, channels_in, 4 * channels, stride)


def _stem(width: int, shrink: int) -> nn.Sequential:
    if shrink == 4:
        first: list[nn.Module] = [_conv(3, width, 7, 2)]
        last: list[nn.Module] = [nn.MaxPool2d(3, 2, padding=1)]
    else:
        first, last = [_conv(3, width, 3, shrink)], []
    return nn.Sequential(*first, nn.BatchNorm2d(width), nn.ReLU(inplace=True), *last)


class ResNet(nn.Module):
    """Four stages of residual blocks between a stem and a linear head called `head`."""

    def __init__(
        self,
        *,
        block: BlockFactory,
        expansion: int,
        depths: tuple[int, int, int, int],
        num_classes: int,
        width: int,
        dropout: float,
        stem_shrink: int,
    ) -> None:
        super().__init__()
        self.stem = _stem(width, stem_shrink)
        stages, channels = [], width
        for index, depth in enumerate(depths):
            inner = width * 2**index
            blocks = []
            for position in range(depth):
                blocks.append(block(channels, inner, 2 if index > 0 and position == 0 else 1))
                channels = inner * expansion
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.Sequential(*stages)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(channels, num_classes)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """Normalised `images` [b, 3, h, w] to logits [b, num_classes]."""
        features = self.stages(self.stem(images)).mean(dim=(2, 3))
        return self.head(self.dropout(features))  # type: ignore[no-any-return]


def initialise(network: nn.Module) -> None:
    """He initialisation, a small head, and residual blocks that begin as the identity."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.01)
            nn.init.zeros_(module.bias)
    for module in network.modules():
        if isinstance(module, Residual):
            # Each block begins as the identity (Goyal et al. 2017, section 5.1).
            nn.init.zeros_(module.body[-1].weight)  # type: ignore[arg-type]


def _resnet(
    block: BlockFactory,
    expansion: int,
    depths: tuple[int, int, int, int],
    num_classes: int,
    width: int,
    dropout: float,
    stem_shrink: int,
) -> ResNet:
    require(num_classes >= 2, "num_classes", num_classes, "give at least 2")
    require(width >= 1, "model.arguments.width", width, "give at least 1")
    require(0.0 <= dropout < 1.0, "model.arguments.dropout", dropout, "give a share from 0 up to 1")
    require(stem_shrink in (1, 2, 4), "model.arguments.stem_shrink", stem_shrink, "give 1, 2 or 4")
    return ResNet(
        block=block,
        expansion=expansion,
        depths=depths,
        num_classes=num_classes,
        width=width,
        dropout=dropout,
        stem_shrink=stem_shrink,
    )


def resnet18(num_classes: int, *, width: int = 64, dropout: float = 0.0, stem_shrink: int = 4) -> ResNet:
    """ResNet-18: 11.7 M parameters at width 64 and 1,000 classes.

    `width` channels leave the stem, which makes the picture `stem_shrink` times smaller: 4 is the
    paper's 7x7 convolution and pool, 2 and 1 a 3x3 convolution for small pictures.
    """
    return _resnet(_basic, 1, (2, 2, 2, 2), num_classes, width, dropout, stem_shrink)


def resnet34(num_classes: int, *, width: int = 64, dropout: float = 0.0, stem_shrink: int = 4) -> ResNet:
    """ResNet-34: 21.8 M parameters at width 64 and 1,000 classes; arguments as for `resnet18`."""
    return _resnet(_basic, 1, (3, 4, 6, 3), num_classes, width, dropout, stem_shrink)


def resnet50(num_classes: int, *, width: int = 64, dropout: float = 0.0, stem_shrink: int = 4) -> ResNet:
    """ResNet-50: 25.6 M parameters at width 64 and 1,000 classes; arguments as for `resnet18`."""
    return _resnet(_bottleneck, 4, (3, 4, 6, 3), num_classes, width, dropout, stem_shrink)
