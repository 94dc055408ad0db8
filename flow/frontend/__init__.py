"""Model files to graphs; the only room that imports hls4ml, keras, torch or onnx."""
