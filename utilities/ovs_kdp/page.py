# SPDX-License-Identifier: Apache-2.0
"""The lines of a view in ovs-kdp-top, as plain text."""

from ovs_kdp import view

# Most handlers and kinds of RTNL calls that are shown.
MAX_HANDLERS = 8
MAX_CALLS = 4


def number(value, digits=0):
    """A number in few characters, or "-" for none."""
    if value is None:
        return "-"
    for limit, factor, unit in ((1e10, 1e9, "G"), (1e7, 1e6, "M"),
                                (1e5, 1e3, "k")):
        if value >= limit:
            return "%.0f%s" % (value / factor, unit)
    return "%.*f" % (digits, value)


def clean(name):
    """A name without unprintable characters."""
    return "".join(c if c.isprintable() else "?" for c in name)


def summary(shown):
    """Lines about everything except ports."""
    lines = []
    for table in shown.datapaths():
        lines.append("%s: %s ports, %s sockets, %s handlers, %s, %s" % (
            clean(table["name"]), table["n_ports"], table["n_sockets"],
            table["n_handlers"], table["engine"], table["dispatch"]))
    handlers = shown.handlers()
    for first in range(0, min(len(handlers), MAX_HANDLERS), 4):
        lines.append("handlers  " + "  ".join(
            "%d: %s/s, %s empty" % (handler["handler"],
                                    number(handler["rate"]),
                                    number(handler["empty"]))
            for handler in handlers[first:first + 4]))
    if len(handlers) > MAX_HANDLERS:
        lines.append("          and %d more" % (len(handlers) - MAX_HANDLERS))
    links = shown.links()
    if links:
        lines.append("links     %s devices in %s namespaces, %s not current; "
                     "events %s/s; overruns %s, resyncs %s" % (
                         number(links["devices"]), links["namespaces"],
                         links["not_current"], number(links["events"], 1),
                         number(links["overruns"]), number(links["resyncs"])))
        busy = sorted(links["rtnl"].items(), key=lambda item: -item[1])
        lines.append("RTNL      %s calls so far%s" % (
            number(links["rtnl_total"]), "".join(
                "; %s %s/s" % (name, number(value, 1))
                for name, value in busy[:MAX_CALLS])))
    for engine in shown.offload():
        lines.append("offload   %s; %s; queue %s; inserted %s/s, "
                     "deleted %s/s, rejected %s/s" % (
                         "on" if engine["enabled"] else "off",
                         ", ".join("%s %s" % (state, number(n)) for state, n
                                   in engine["flows"].items() if n)
                         or "no flows", number(engine["queued"]),
                         number(engine["inserted"]),
                         number(engine["deleted"]),
                         number(engine["rejected"])))
    return lines


def heading(sort):
    """The line above the ports, with a mark at the column by which they are
    sorted."""
    cells = ["%-16s" % ("port" + ("*" if sort == "name" else ""))]
    for title, key, width in view.COLUMNS:
        cells.append("%*s" % (width, title + ("*" if key == sort else "")))
    return "".join(cells)


def port_line(port):
    """The line of a port."""
    cells = ["%-16s" % clean(port["name"])[:16]]
    for _, key, width in view.COLUMNS:
        digits = 1 if key.endswith("rate") and (port[key] or 0) < 100 else 0
        cells.append("%*s" % (width, number(port[key], digits)))
    queues = port["queues"] or 0
    return "".join(cells) + ("  shared socket" if port["shared"]
                             else "  %d queues" % queues if queues > 1
                             else "")


def sender_heading():
    """The line above the senders."""
    return "%-16s%-28s%10s" % ("port", "sender", "vni") + "".join(
        "%*s" % (width, title) for title, _, width in view.SENDER_COLUMNS)


def sender_line(sender):
    """The line of a sender."""
    return "%-16s%-28s%10s" % (
        clean(sender["port"])[:16], clean(sender["sender"] or "(unknown)"),
        "" if sender["vni"] is None else sender["vni"]) + "".join(
            "%*s" % (width, number(sender[key]))
            for _, key, width in view.SENDER_COLUMNS)


def lines(shown, sort, pattern="", senders=False):
    """All lines: with senders, or with ports."""
    if senders:
        rows = [sender_heading()] + [sender_line(sender) for sender
                                     in shown.senders(pattern)]
    else:
        rows = [heading(sort)] + [
            port_line(port) for port in view.select(shown.ports(), sort,
                                                    pattern)]
    return summary(shown) + [""] + rows
