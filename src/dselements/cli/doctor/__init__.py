"""``dselements doctor``: what keeps elements from working here, and the command that mends it.

Nothing is imported that may be the very thing that is broken: gi, numpy, the native module and
NVIDIA's library are tried in processes of their own, so that a crash is a finding like any other.
"""
