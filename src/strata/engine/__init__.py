"""Engines behind one port: a job in, an `EngineResult` out. The native engine is the compiled one."""

from __future__ import annotations

from strata.engine import remote_file
from strata.engine.cell import Prepared, drop_pages, prepare_cell, run_cell
from strata.engine.generator import measure_generator
from strata.engine.job import Piece, Timing, build_job
from strata.engine.layout import Extents, Layout, file_extents, file_segments, on_device
from strata.engine.native import build_info, fill, run_job
from strata.engine.port import Engine, Request
from strata.engine.registry import AUTO as AUTO_ENGINE
from strata.engine.registry import DEFAULT as DEFAULT_ENGINE
from strata.engine.registry import engine_for, engine_of
from strata.engine.remote import PATIENCE_NS, claim, content, own_mark, probe_remote, read_remote, remote_size
from strata.engine.target import Backing, PlantedFault, Shaping, TargetConfig, TargetProcess, serve

__all__ = [
    "AUTO_ENGINE",
    "DEFAULT_ENGINE",
    "PATIENCE_NS",
    "Backing",
    "Engine",
    "Extents",
    "Layout",
    "Piece",
    "PlantedFault",
    "Prepared",
    "Request",
    "Shaping",
    "TargetConfig",
    "TargetProcess",
    "Timing",
    "build_info",
    "build_job",
    "claim",
    "content",
    "drop_pages",
    "engine_for",
    "engine_of",
    "file_extents",
    "file_segments",
    "fill",
    "measure_generator",
    "on_device",
    "own_mark",
    "prepare_cell",
    "probe_remote",
    "read_remote",
    "remote_file",
    "remote_size",
    "run_cell",
    "run_job",
    "serve",
]
