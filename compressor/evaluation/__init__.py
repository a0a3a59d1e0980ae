"""Grades compressors like models: what survives, what flips, what drifts, what it costs; and a gate for releases.

`compressor evaluate` and `compressor gate` are the commands; `runner.evaluate` is what they call. It imports nothing of
`compressor.protection`'s lists, so that its reference counter is a second opinion on them.
"""
