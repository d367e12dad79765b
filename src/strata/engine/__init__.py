"""Engines behind one port: a job in, an `EngineResult` out. The native engine is the compiled one."""

from __future__ import annotations

from strata.engine.generator import measure_generator
from strata.engine.job import Aim, Timing, build_job
from strata.engine.layout import Layout, device_segments, file_segments
from strata.engine.native import build_info, fill, probe_remote, read_remote, run_job
from strata.engine.target import Backing, Shape, TargetConfig, TargetProcess, serve, serve_config

__all__ = [
    "Aim",
    "Backing",
    "Layout",
    "Shape",
    "TargetConfig",
    "TargetProcess",
    "Timing",
    "build_info",
    "build_job",
    "device_segments",
    "file_segments",
    "fill",
    "measure_generator",
    "probe_remote",
    "read_remote",
    "run_job",
    "serve",
    "serve_config",
]
