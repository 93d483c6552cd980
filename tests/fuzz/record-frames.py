#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Sends frames of many kinds from a device: record-frames.py DEVICE [SEED]

Each kind has addresses and ports of its own, which SEED, a small number,
changes.  With "--tunnels" in place of DEVICE, sends tunnel packets to this
host: VXLAN, VXLAN with a group policy, Geneve with options, GRE and ERSPAN,
over IPv4 and IPv6.
"""

import socket
import struct
import sys


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip4(seed, n):
    return bytes([10, 1 + seed, 0, n])


def ip6(seed, n):
    return bytes([0xfd, 0, 0, seed]) + bytes(11) + bytes([n])


def ethernet(n, ethertype, payload, dst=None):
    dst = dst or b"\x02\0\0\0\1" + bytes([n])
    return dst + b"\x02\0\0\0\2" + bytes([n]) \
        + struct.pack("!H", ethertype) + payload


def vlan(tpid, tci, frame):
    return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]


def arp(seed, op):
    return struct.pack("!HHBBH", 1, 0x0800, 6, 4, op) \
        + b"\x02\0\0\0\2\6" + ip4(seed, 1) + bytes(6) + ip4(seed, 2)


def ipv4(seed, proto, payload, frag=0, ttl=64, options=b"", ident=7):
    def header(csum):
        return struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, 0,
                           20 + len(options) + len(payload), ident, frag, ttl,
                           proto, csum) \
            + ip4(seed, 1) + ip4(seed, 2) + options
    return header(checksum(header(0))) + payload


def ipv6(seed, proto, payload, extension=b"", hlim=64):
    return struct.pack("!IHBB", 6 << 28, len(extension) + len(payload), proto,
                       hlim) + ip6(seed, 1) + ip6(seed, 2) \
        + extension + payload


def udp(sport, dport, data=b"udp"):
    # Without a checksum, which IPv4 allows.
    return struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data


def pseudo6(seed, proto, length):
    return ip6(seed, 1) + ip6(seed, 2) + struct.pack("!II", length, proto)


def udp6(seed, sport, dport, data=b"udp"):
    header = struct.pack("!HHHH", sport, dport, 8 + len(data), 0)
    csum = checksum(pseudo6(seed, 17, 8 + len(data)) + header + data)
    return header[:6] + struct.pack("!H", csum or 0xffff) + data


def tcp(pseudo, sport, dport, flags, ack, data):
    def header(csum):
        return struct.pack("!HHIIBBHHH", sport, dport, 1, ack, 0x50, flags,
                           8192, csum, 0)
    return header(checksum(pseudo + header(0) + data)) + data


def tcp4(seed, sport, dport, flags, ack=0, data=b""):
    return tcp(ip4(seed, 1) + ip4(seed, 2)
               + struct.pack("!HH", 6, 20 + len(data)),
               sport, dport, flags, ack, data)


def tcp6(seed, sport, dport, flags, ack=0, data=b""):
    return tcp(pseudo6(seed, 6, 20 + len(data)), sport, dport, flags, ack,
               data)


def icmp(kind, code=0, rest=b"\0\1\0\1ping"):
    head = struct.pack("!BBH", kind, code, 0) + rest
    return head[:2] + struct.pack("!H", checksum(head)) + head[4:]


def icmpv6(seed, kind, rest):
    head = struct.pack("!BBH", kind, 0, 0) + rest
    csum = checksum(pseudo6(seed, 58, len(head)) + head)
    return head[:2] + struct.pack("!H", csum) + head[4:]


def mpls(labels):
    return b"".join(struct.pack("!I", (100 + i) << 12
                                | (i == labels - 1) << 8 | 64)
                    for i in range(labels))


def frames_l2(seed):
    yield ethernet(1, 0x88b5, b"no protocol" * 5)
    yield ethernet(2, 46, b"\xaa\xaa\3\0\0\0\x08\0"
                   + ipv4(seed, 17, udp(1, 2))[:38])
    yield ethernet(3, 38, b"\x42\x42\3" + bytes(35),
                   b"\x01\x80\xc2\0\0\0")                       # STP
    yield ethernet(4, 0x88cc, b"\2\7\4\2\0\0\0\2\1" + bytes(40),
                   b"\x01\x80\xc2\0\0\x0e")                     # LLDP
    yield ethernet(5, 0x8809, b"\1\1" + bytes(108),
                   b"\x01\x80\xc2\0\0\2")                       # LACP
    for op in 1, 2:
        yield ethernet(6, 0x0806, arp(seed, op))


def frames_ipv4(seed, n):
    for proto, payload in (
            (17, udp(1000 + n, 53)),
            (17, udp(1001 + n, 53, bytes(1400))),
            (17, udp(1004 + n, 53, bytes(8000))),
            (17, b"cut"),
            (6, tcp4(seed, 2000 + n, 80, 2)),
            (6, tcp4(seed, 2001 + n, 80, 0x18, 9, b"data" * 50)),
            (1, icmp(8)),
            (1, icmp(3, 1, bytes(4) + ipv4(seed, 17, udp(1000 + n, 53)))),
            (2, b"\x16\0\0\0\xe0\0\0\1"),
            (132, struct.pack("!HHII", 3000 + n, 3001, 1, 0) + b"\1\0\0\x14"
             + bytes(16))):
        yield ethernet(7, 0x0800, ipv4(seed, proto, payload))
    yield ethernet(8, 0x0800, ipv4(seed, 17, udp(1002 + n, 53), ttl=1))
    yield ethernet(8, 0x0800, ipv4(seed, 17, udp(1003 + n, 53),
                                   options=b"\x94\4\0\0"))
    # Two fragments of 48 bytes in all.
    yield ethernet(12, 0x0800, ipv4(
        seed, 17, udp(1005 + n, 53, bytes(40))[:32], frag=0x2000, ident=99))
    yield ethernet(12, 0x0800, ipv4(seed, 17, bytes(16), frag=4, ident=99))
    yield ethernet(13, 0x0800, b"\x45\0\0")


def frames_ipv6(seed, n):
    yield ethernet(14, 0x86dd, ipv6(seed, 17, udp6(seed, 1000 + n, 53)))
    yield ethernet(14, 0x86dd, ipv6(seed, 6, tcp6(seed, 2000 + n, 80, 2)))
    yield ethernet(15, 0x86dd, ipv6(seed, 58, icmpv6(seed, 128, b"\0\1\0\1")))
    yield ethernet(16, 0x86dd, ipv6(
        seed, 58, icmpv6(seed, 135, bytes(4) + ip6(seed, 2)
                         + b"\1\1\x02\0\0\0\2\x10"), hlim=255))
    yield ethernet(16, 0x86dd, ipv6(
        seed, 58, icmpv6(seed, 136, b"\x60\0\0\0" + ip6(seed, 2)
                         + b"\2\1\x02\0\0\0\2\x10"), hlim=255))
    whole = udp6(seed, 1001 + n, 53, bytes(40))
    yield ethernet(17, 0x86dd, ipv6(seed, 44, whole[:24], struct.pack(
        "!BBHI", 17, 0, 1, 55)))
    yield ethernet(17, 0x86dd, ipv6(seed, 44, whole[24:], struct.pack(
        "!BBHI", 17, 0, 24, 55)))
    yield ethernet(18, 0x86dd, ipv6(seed, 0, udp6(seed, 1002 + n, 53),
                                    b"\x3c\0\1\4\0\0\0\0"
                                    b"\x11\0\1\4\0\0\0\0"))


def frames_tagged(seed, n):
    for i, inner in enumerate((
            ethernet(19, 0x88b5, bytes(50)),
            ethernet(20, 0x0800, ipv4(seed, 17, udp(1006 + n, 53))),
            ethernet(21, 0x86dd, ipv6(seed, 6, tcp6(seed, 2001 + n, 80, 2))),
            ethernet(22, 0x0806, arp(seed, 1)))):
        yield vlan(0x8100, 0x6000 + 10 + i, inner)
        yield vlan(0x88a8, 200 + i, vlan(0x8100, 10 + i, inner))
        yield vlan(0x8100, 0, inner)
    yield vlan(0x8100, 5, vlan(0x8100, 6, vlan(0x8100, 7, ethernet(
        23, 0x0800, ipv4(seed, 17, udp(1007 + n, 53))))))
    for labels in 1, 2, 3, 4:
        yield ethernet(24, 0x8847, mpls(labels)
                       + ipv4(seed, 17, udp(1008 + n, 53)))
    # Network service header, with contexts of both types.
    yield ethernet(25, 0x894f, struct.pack("!HBBI", 0x0fc6, 1, 1, 0x012345ff)
                   + bytes(16) + ipv4(seed, 17, udp(1009 + n, 53)))
    yield ethernet(25, 0x894f, struct.pack("!HBBI", 0x0fc4, 2, 3, 0x012345ff)
                   + b"\1\2\0\4abcd" + ethernet(1, 0x88b5, bytes(40)))


def send_frames(device, seed):
    n = seed * 50
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((device, 0))
        for frames in (frames_l2(seed), frames_ipv4(seed, n),
                       frames_ipv6(seed, n), frames_tagged(seed, n)):
            for frame in frames:
                sock.send(frame.ljust(60, b"\0"))


def send_tunnels():
    inner = [ethernet(1, 0x88b5, bytes(50)),
             ethernet(2, 0x0800, ipv4(9, 17, udp(1, 2))),
             ethernet(3, 0x86dd, ipv6(9, 6, tcp6(9, 1, 2, 2))),
             vlan(0x8100, 3, ethernet(4, 0x0800, ipv4(9, 1, icmp(8))))]
    for family, address in ((socket.AF_INET, "127.0.0.1"),
                            (socket.AF_INET6, "::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            for frame in inner:
                sock.sendto(b"\x08\0\0\0\0\0\x2a\0" + frame, (address, 4789))
                sock.sendto(b"\x88\0\0\x07\0\0\x2b\0" + frame,
                            (address, 4790))
                sock.sendto(b"\0\0\x65\x58\0\0\x2a\0" + frame, (address, 6081))
                # Two options, one of them critical; a control packet.
                sock.sendto(b"\x04\0\x65\x58\0\0\x2a\0\xff\xff\1\1\1\2\3\4"
                            b"\xff\xfe\x82\1\5\6\7\x08" + frame,
                            (address, 6081))
                sock.sendto(b"\x00\x80\x65\x58\0\0\x2b\0" + frame,
                            (address, 6081))
        with socket.socket(family, socket.SOCK_RAW, 47) as sock:
            for frame in inner:
                sock.sendto(b"\x20\0\x65\x58\0\0\0\x2a" + frame, (address, 0))
                sock.sendto(b"\0\0\x65\x58" + frame, (address, 0))
            # A packet without an Ethernet header.
            sock.sendto(b"\0\0\x08\0" + ipv4(9, 17, udp(3, 4)), (address, 0))
            # ERSPAN, version 1.
            sock.sendto(b"\x10\0\x88\xbe\0\0\0\1\x10\0\0\5\0\0\0\7" + inner[1],
                        (address, 0))


if sys.argv[1] == "--tunnels":
    send_tunnels()
else:
    send_frames(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
