# SPDX-License-Identifier: Apache-2.0
"""Blobs of weights as docs/UPDATES.md says them, written anew: taken apart, with other values,
sealed again."""
import struct
import zlib

HEAD, SEAL, BLOCK = 32, 32, 4096


def begin(blob):
    """Where its weights begin."""
    return struct.unpack_from('<I', blob, 28)[0]


def weights(blob):
    return blob[begin(blob) :]


def sealed(blob, values):
    """The blob with other values in place of its own, and all sums right."""
    at = begin(blob)
    seal = blob[-SEAL:-4]
    assert len(values) + SEAL == len(blob) - at
    payload = values + seal
    payload += struct.pack('<I', zlib.crc32(payload))
    table = b''.join(
        struct.pack('<I', zlib.crc32(payload[i : i + BLOCK])) for i in range(0, len(payload), BLOCK)
    )
    head = (blob[:HEAD] + table).ljust(at - 4, b'\0')
    return head + struct.pack('<I', zlib.crc32(head)) + payload
