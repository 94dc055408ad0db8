"""Which function makes the records of a Keras 3 layer, and why the others are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flow.errors import UserError, nearest
from flow.frontend import keras_activations, keras_quantizers, keras_shapes, keras_weights
from flow.frontend.keras_call import Call
from flow.frontend.records import Record

# identity at inference; hls4ml would put a cast to its default type in their place
IDENTITY = frozenset(
    [
        "Dropout",
        "AlphaDropout",
        "GaussianDropout",
        "SpatialDropout1D",
        "SpatialDropout2D",
        "SpatialDropout3D",
        "GaussianNoise",
        "ActivityRegularization",
        "Identity",
    ]
)
_NOT_YET = frozenset(
    ["SimpleRNN", "LSTM", "GRU", "Bidirectional", "RNN", "QSimpleRNN", "QLSTM", "QGRU", "QBidirectional", "ConvLSTM1D"]
)
_INSTEAD = {
    "Conv1DTranspose": "use UpSampling1D and Conv1D",
    "Conv2DTranspose": "use UpSampling2D and Conv2D",
    "Rescaling": "scale the input outside, or use BatchNormalization",
    "Normalization": "normalize the input outside, or use BatchNormalization",
    "Masking": "leave masked positions out of the model",
    "GroupNormalization": "use BatchNormalization",
    "UnitNormalization": "use BatchNormalization",
}
_RECORDS: Mapping[str, Callable[[Call], list[Record]]] = {
    "Dense": keras_weights.dense,
    "Conv1D": keras_weights.conv,
    "Conv2D": keras_weights.conv,
    "DepthwiseConv1D": keras_weights.depthwise_conv,
    "DepthwiseConv2D": keras_weights.depthwise_conv,
    "SeparableConv1D": keras_weights.separable_conv,
    "SeparableConv2D": keras_weights.separable_conv,
    "BatchNormalization": keras_weights.batch_normalization,
    "LayerNormalization": keras_weights.layer_normalization,
    "Embedding": keras_weights.embedding,
    "MaxPooling1D": keras_shapes.pooling,
    "MaxPooling2D": keras_shapes.pooling,
    "AveragePooling1D": keras_shapes.pooling,
    "AveragePooling2D": keras_shapes.pooling,
    "GlobalMaxPooling1D": keras_shapes.global_pooling,
    "GlobalMaxPooling2D": keras_shapes.global_pooling,
    "GlobalAveragePooling1D": keras_shapes.global_pooling,
    "GlobalAveragePooling2D": keras_shapes.global_pooling,
    "Add": keras_shapes.merge,
    "Subtract": keras_shapes.merge,
    "Multiply": keras_shapes.merge,
    "Average": keras_shapes.merge,
    "Maximum": keras_shapes.merge,
    "Minimum": keras_shapes.merge,
    "Concatenate": keras_shapes.concatenate,
    "Dot": keras_shapes.dot,
    "Activation": keras_activations.activation_layer,
    "ReLU": keras_activations.relu,
    "LeakyReLU": keras_activations.leaky_relu,
    "PReLU": keras_activations.prelu,
    "ELU": keras_activations.elu,
    "Softmax": keras_activations.softmax,
    "Flatten": keras_shapes.reshape,
    "Reshape": keras_shapes.reshape,
    "Permute": keras_shapes.permute,
    "RepeatVector": keras_shapes.repeat_vector,
    "ZeroPadding1D": keras_shapes.zero_padding,
    "ZeroPadding2D": keras_shapes.zero_padding,
    "Cropping1D": keras_shapes.cropping,
    "Cropping2D": keras_shapes.cropping,
    "UpSampling1D": keras_shapes.up_sampling,
    "UpSampling2D": keras_shapes.up_sampling,
    "QDense": keras_weights.dense,
    "QConv1D": keras_weights.conv,
    "QConv2D": keras_weights.conv,
    "QDepthwiseConv2D": keras_weights.depthwise_conv,
    "QSeparableConv1D": keras_weights.separable_conv,
    "QSeparableConv2D": keras_weights.separable_conv,
    "QConv2DBatchnorm": keras_weights.folded_conv,
    "QDepthwiseConv2DBatchnorm": keras_weights.folded_conv,
    "QBatchNormalization": keras_weights.quantized_batch_normalization,
    "QActivation": keras_quantizers.activation_layer,
}


def layer_records(call: Call) -> list[Record]:
    """Return the records of a layer without the activation inside it; raise UserError for what is not supported."""
    root = type(call.layer).__module__.split(".")[0]
    if root not in ("keras", "qkeras"):
        raise UserError(f"{call.where}: custom code ({root}) is not supported; Keras's own layers and qkeras-v3's are")
    make = _RECORDS.get(call.kind)
    if make is None:
        raise _refusal(call)
    return make(call)


def _refusal(call: Call) -> UserError:
    import keras

    if isinstance(call.layer, keras.Model) or call.kind == "TimeDistributed":
        return UserError(f"{call.where}: flatten the nested model: put its layers into the outer one")
    if call.kind == "Lambda":
        return UserError(f"{call.where}: a Lambda holds arbitrary code; write it with Keras's own layers")
    if call.kind in _NOT_YET:
        return UserError(f"{call.where}: recurrent layers are not supported yet; feed-forward ones are")
    instead = _INSTEAD.get(call.kind) or nearest(call.kind, _RECORDS)
    return UserError(f"{call.where}: this kind of layer is not supported; {instead}")


def refuse_operations(model: Any) -> None:
    """Refuse operations on tensors that are no layers (`a + x`, `x[:, :3]`), which hls4ml does not see."""
    import keras

    for operation in model._operations:
        if not isinstance(operation, keras.layers.Layer):
            name, kind = operation.name, type(operation).__name__
            layer = f"keras.layers.{kind}" if kind in _RECORDS else "a layer of Keras"
            raise UserError(f"operation '{name}' ({kind}): operations on tensors are not supported; write {layer}")
