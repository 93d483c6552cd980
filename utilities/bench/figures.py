# SPDX-License-Identifier: Apache-2.0

"""Figures of published results that texts mention, by name.  Pages have them
as substitutions; the README has a table of them."""

from bench_results import ResultsError

# Configurations of bench-upcall that are compared.
STOCK, OURS = "stock", "kdp-per-port-epoll"

BEGIN, END = "<!-- Made by make-pages --readme. -->", "<!-- End. -->"


def milliseconds(us):
    return f"{us / 1000:.2f} ms" if us < 10000 else f"{us / 1000:.0f} ms"


def percent(share):
    return f"{share:.0%}".replace("%", " %") if share else "0"


def upcalls(results, name, configuration):
    """Returns the medians of a configuration in results of bench-upcall."""
    return results[name]["summary"][configuration]["median"]


def row_of(results, name, of, **wanted):
    """Returns the row of the summary, or of its table 'of', with the members
    'wanted'."""
    rows = results[name]["summary"]
    for row in rows[of] if of else rows:
        if all(row.get(k) == v for k, v in wanted.items()):
            return row
    raise ResultsError(f"{name}: expected a row with {wanted}")


def daemon_figures(results, daemon, configuration):
    """Returns the figures of 'daemon'.  'configuration' is its name in results
    of bench-upcall."""
    def offload(test, mode, delay_us):
        return row_of(results, "offload", None, test=test, mode=mode,
                      delay_us=delay_us, daemon=daemon, threads=None)

    def rtnl(**wanted):
        return row_of(results, "rtnl", None, daemon=daemon, ports=100,
                      **wanted)

    def start(ports):
        return row_of(results, "restart", "starts", daemon=daemon,
                      ports=ports, handlers=4)

    def memory(ports):
        return start(ports)["rss_kb"]

    lost = row_of(results, "restart", "lost", daemon=daemon, how="SIGTERM",
                  rules="normal", offload=False, flows=1)
    chassis = row_of(results, "restart-live", "lost", daemon=daemon,
                     how="TERM", rules="ovn")
    flooded = upcalls(results, "upcalls-dispatch", configuration)
    sockets = upcalls(results, "upcalls-public", configuration)["sockets"]
    return {
        "idle-lost": percent(flooded["idle_loss"]),
        "idle-median": milliseconds(flooded["idle_p50_us"]),
        "flooded-lost": percent(flooded["flooded_loss"]),
        "sockets": f"{sockets:,}",
        "rtnl-steady": f"{rtnl(test='steady')['acquisitions_per_s']:.0f}",
        "rtnl-port":
            f"{rtnl(test='each', delay_us=10000)['acquisitions_per_port']:.0f}",
        "first-packet":
            milliseconds(offload("paced", "software", 10000)["p99_us"]),
        "restart-lost": f"{lost['most']}",
        "chassis-lost": f"{chassis['lost']}",
        "start": f"{start(4000)['start_ms'] / 1000:.0f} s",
        "port-memory": f"{(memory(1000) - memory(10)) / 990:.0f} KiB",
        "memory-few": f"{memory(10) / 1024:.1f} MiB",
        "memory-many": f"{memory(4000) / 1024:.0f} MiB"}


def ratio_figures(results):
    """Returns our figures as ratios to the stock daemon's."""
    def inserts(mode, delay_us):
        ours, stock = (row_of(results, "offload", None, test="burst",
                              mode=mode, delay_us=delay_us, daemon=daemon,
                              threads=None)["inserts_per_s"]
                       for daemon in ("kdp", "stock"))
        return f"{ours / stock:.2f}"

    def served(name):
        ours, stock = (upcalls(results, name, configuration)
                       ["flooded_served_per_s"]
                       for configuration in (OURS, STOCK))
        return f"{ours / stock:.2f}"

    return {"inserts-software": inserts("software", 0),
            "inserts-card": inserts("card", 0),
            "inserts-delayed": inserts("software", 10000),
            "served": served("upcalls-dispatch")}


def figures(published):
    """Returns all figures, text by name."""
    results = published["results"]
    found = ratio_figures(results)
    for daemon, configuration in ("stock", STOCK), ("kdp", OURS):
        found.update({f"{name}-{daemon}": text for name, text in
                      daemon_figures(results, daemon, configuration).items()})
    return found


def substitutions(published):
    """Returns all figures as substitutions in reStructuredText."""
    return "\n".join(f".. |{name}| replace:: {text}"
                     for name, text in figures(published).items()) + "\n"


def readme_table(published):
    """Returns the README's table in Markdown."""
    f = figures(published)
    rows = [
        ("A quiet port while all others are flooded: packets lost; median "
         "latency", "{idle-lost-kdp}; {idle-median-kdp}",
         "{idle-lost-stock}; {idle-median-stock}",
         "200 ports, 40,000 misses a second, more than either daemon serves"),
        ("Netlink sockets", "{sockets-kdp}", "{sockets-stock}",
         "2,223 ports, 56 handler threads, one CPU. The stock daemon has a "
         "socket for each CPU"),
        ("Acquisitions of the RTNL lock: a second, at rest; for each port "
         "that is deleted and created again", "{rtnl-steady-kdp}; "
         "{rtnl-port-kdp}", "{rtnl-steady-stock}; {rtnl-port-stock}",
         "100 ports, each acquisition takes 10 ms longer"),
        ("Latency of a flow's first packet with `hw-offload=true`, 99th "
         "percentile", "{first-packet-kdp}", "{first-packet-stock}",
         "2,000 new flows a second, `tc-policy=skip_hw`, each acquisition "
         "of the lock takes 10 ms longer"),
        ("Flows that get into tc a second, to the stock daemon",
         "{inserts-software}; {inserts-card}; {inserts-delayed}", "1",
         "a burst of flows: `skip_hw`; a card; `skip_hw` with the lock "
         "delayed by 10 ms")]
    lines = ["| | ovs-kdp | stock | conditions |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(part.format(**f) for part in row) + " |"
              for row in rows]
    return "\n".join(lines)


def readme_with_table(text, published):
    """Returns the README's 'text' with an up-to-date table."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ResultsError(f"README.md: expected {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{readme_table(published)}\n{END}{after}"
