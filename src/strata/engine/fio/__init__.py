"""The `fio` engine: drives an installed fio and reads its json+ output.

What its figures mean beside those of the native engine is in docs/design/engine.md.
"""
