"""Checks of what devices say of their own health, and of what the kernel's log says of them."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.discover.notices.say import info, warn
from strata.model.survey import Notice, Survey

HOT_ROTATING, HOT = 60.0, 70.0
"""°C. Makers of rotating disks allow 60 in operation; NVMe devices warn, and begin to slow down, from 70 to 85 on."""
NEAR_LIMIT = 5.0
"""Degrees below the limit that the device itself states."""
WORN, SPARE = 0.9, 0.1
"""Shares of the life that is used, and of the spare blocks that are left; 10 % is the usual threshold of NVMe."""


def failing(survey: Survey) -> Iterator[Notice]:
    """A device that fails its own check, has lost data, or is worn."""
    for device in survey.devices:
        found = device.health
        if found is None:
            continue
        if found.passed is False:
            yield warn(
                "device.failing",
                f"{device.path} reports that it is failing"
                + (f" (critical warning {found.critical:#04x})" if found.critical else ""),
                "it may retry, remap or refuse requests at any time: the figures are of a broken device",
                f"save its data, and replace it: smartctl -a {device.path}",
            )
        bad = [
            f"{units.count(n)} {what}"
            for n, what in (
                (found.pending, "pending sectors"),
                (found.uncorrected, "uncorrected errors"),
                (found.kernel_errors, "failed requests since it was attached"),
            )
            if n
        ]
        if bad:
            yield warn(
                "device.media-errors",
                f"{device.path} has {', '.join(bad)}",
                "a sector that is hard to read is retried for up to seconds: single requests have very long latencies",
                f"smartctl -t long {device.path} reads every sector; replace the device if the count grows",
            )
        if (found.used or 0.0) >= WORN or (found.spare is not None and found.spare <= SPARE):
            left = "" if found.spare is None else f", {units.percent(found.spare)} of its spare blocks are left"
            used = "" if found.used is None else f"{units.percent(found.used)} of its rated life is used"
            yield warn(
                "device.worn",
                f"{device.path} is worn: {(used + left).removeprefix(', ')}",
                "worn flash corrects more errors and is written more slowly than a new device of the same model",
                "compare with a device of the same age only, and plan its replacement",
            )


def hot(survey: Survey) -> Iterator[Notice]:
    """Devices slow down by themselves when they are hot."""
    for device in survey.devices:
        found = device.health
        if found is None or found.celsius is None:
            continue
        usual = HOT_ROTATING if device.rotational else HOT
        limit = usual if found.celsius_limit is None else min(usual, found.celsius_limit - NEAR_LIMIT)
        if found.celsius >= limit:
            yield warn(
                "device.hot",
                f"{device.path} is at {found.celsius:g} °C",
                "a hot device slows itself down, and figures fall while the measurement heats it further",
                "improve the cooling, wait until it is cooler, and watch its temperature in the report",
            )


def link(survey: Survey) -> Iterator[Notice]:
    """Transfers that a bad cable, slot or backplane spoilt."""
    for device in survey.devices:
        if device.health is not None and device.health.link_errors:
            yield info(
                "device.link-errors",
                f"{device.path} has repeated {units.count(device.health.link_errors)} transfers in its life",
                "if the number still grows, a cable, slot or backplane is bad: each repetition is a stall",
                f"measure, and compare the number again: smartctl -A {device.path}, attribute 199",
            )


def logged(survey: Survey) -> Iterator[Notice]:
    """What the kernel has reported of the devices of the chain since the machine was started."""
    log = survey.kernel_log
    for device in survey.devices:
        lines = [line for line in log.lines if line.device == device.name] if log else []
        if lines:
            last = lines[-1]
            yield warn(
                "device.errors-logged",
                f"the kernel has logged errors of {device.path}, the last one "
                f"{units.duration(last.seconds * units.NS_PER_S)} after the start: {last.text}",
                "errors are retried below the measurement: single requests have very long latencies, and results are "
                "not those of a healthy device",
                "dmesg --level err,warn shows all of them; find the cause before you measure",
            )


CHECKS = (failing, hot, link, logged)
