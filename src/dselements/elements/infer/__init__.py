"""``dsinfer``: detectors and classifiers on the CPU, by nvinfer's configuration files.

It runs an ONNX model with ONNX Runtime on frames in system memory and adds one object to the
metadata for each detection, with the values that nvinfer would give it. The file named by
``config-file-path`` is nvinfer's own (INI or YAML); GObject properties override it, as there.

With the detector and a clip that ``python -m dselements.assets`` fetches::

    python -m dselements.assets --quiet --cache cache
    gst-launch-1.0 filesrc location=cache/bikes.mp4 ! decodebin ! videoconvert ! \\
        dsinfer config-file-path=cache/coco-ssd/config.txt ! dsosd ! videoconvert ! fakesink

Without ``nvstreammux`` or ``dsmux`` upstream each buffer becomes a batch of one frame.

**Classifiers** (``network-type=1``) look at objects (``process-mode=2``) that were found upstream,
and add a classifier meta to each; or at whole frames, which get an object of their size. Which
objects, is said by ``operate-on-gie-id``, ``operate-on-class-ids``, ``input-object-min-width`` and
its like. A tracked object is looked at when it is new, when its box has grown by a fifth, and after
``secondary-reinfer-interval`` frames; between, it gets what is known of it. With
``classifier-async-mode=1`` no buffer waits for the network: tracked objects get the results of
earlier frames, and what is in work at the end of the stream is dropped.

Differences from nvinfer: detectors on full frames only, clustering by NMS or none
(``cluster-mode`` 2 and 4), no segmentation, output parsers in Python
(``parser=module:function``) in place of C++ ones, and an unknown key is an error.

Since: 0.1
"""
