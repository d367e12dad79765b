"""What the driver of a network interface says of it, as ``ethtool`` asks: no right is needed, nothing is changed."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from dataclasses import dataclass, field

_SIOCETHTOOL, _NAME_BYTES = 0x8946, 16
_GET_DRIVER, _GET_FLAGS = 0x03, 0x25
_DRIVER_BYTES, _AT_NAME, _AT_FIRMWARE, _WORD = 196, 4, 68, 32
# Whole features have a request each; from the flags come three more (linux/ethtool.h).
_FEATURES = {"rx-checksum": 0x14, "tx-checksum": 0x16, "scatter-gather": 0x18, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_FLAGS = {"tx-vlan": 1 << 7, "rx-vlan": 1 << 8, "lro": 1 << 15}


@dataclass(frozen=True)
class Told:
    """``offloads``: those that the driver knows, and whether each is on."""

    driver: str | None = None
    firmware: str | None = None
    offloads: dict[str, bool] = field(default_factory=dict)


def told(name: str) -> Told:
    """Of the interface in this network namespace; empty where there is none, or its driver says nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        driver = _asked(any_socket, name, bytes(struct.pack("=I", _GET_DRIVER)).ljust(_DRIVER_BYTES, b"\0"))
        offloads = {}
        for feature, request in _FEATURES.items():
            if answer := _asked(any_socket, name, struct.pack("=II", request, 0)):
                offloads[feature] = struct.unpack("=II", answer)[1] != 0
        if answer := _asked(any_socket, name, struct.pack("=II", _GET_FLAGS, 0)):
            flags = struct.unpack("=II", answer)[1]
            offloads |= {feature: bool(flags & bit) for feature, bit in _FLAGS.items()}
    return Told(_word(driver, _AT_NAME), _word(driver, _AT_FIRMWARE), offloads)


def _asked(any_socket: socket.socket, name: str, request: bytes) -> bytes:
    """The answer, which takes the place of the request; empty where the driver refuses."""
    value = array.array("B", request)
    try:
        fcntl.ioctl(
            any_socket, _SIOCETHTOOL, struct.pack("16sP", name.encode()[: _NAME_BYTES - 1], value.buffer_info()[0])
        )
    except OSError:
        return b""
    return value.tobytes()


def _word(answer: bytes, at: int) -> str | None:
    text = answer[at : at + _WORD].partition(b"\0")[0].decode("utf-8", "replace").strip()
    return None if text in ("", "N/A") else text
