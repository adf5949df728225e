"""``dsinfer``: a detector on the CPU that reads nvinfer's configuration files.

It runs an ONNX model with ONNX Runtime on frames in system memory and adds one object to the
metadata for each detection, with the values that nvinfer would give it. The file named by
``config-file-path`` is nvinfer's own (INI or YAML); GObject properties override it, as there.

With the detector and a clip that ``python -m dselements.assets`` fetches::

    python -m dselements.assets --quiet --cache cache
    gst-launch-1.0 filesrc location=cache/bikes.mp4 ! decodebin ! videoconvert ! \\
        dsinfer config-file-path=cache/coco-ssd/config.txt ! dsosd ! videoconvert ! fakesink

Without ``nvstreammux`` or ``dsmux`` upstream each buffer becomes a batch of one frame.

Differences from nvinfer: full frames only (``process-mode=1``), detectors only
(``network-type=0``), clustering by NMS or none (``cluster-mode`` 2 and 4), output parsers in
Python (``parser=module:function``) in place of C++ ones, and an unknown key is an error.

Since: 0.1
"""
