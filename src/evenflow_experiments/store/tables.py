"""The tables and the plot of the experiment with the live store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow_experiments.report import print_table, write_plot

if TYPE_CHECKING:
    from pathlib import Path


def show_deaths(runs: list[dict[str, Any]]) -> None:
    """Print what became of the messages, and how long it took."""
    keys = ["level", "topics", "acknowledged", "lost", "repeated", "disordered", "stale"]
    print_table(
        f"Brokers killed one after the other under steady writes ({runs[0]['brokers']} brokers)",
        keys,
        [[found[key] for key in keys] for found in runs],
    )
    print_table(
        "How long it took",
        ["level", "kills", "copies made, s", "returned, s", "ack ms", "ack p99 ms"],
        [
            [
                found["level"],
                found["kills"],
                " ".join(f"{seconds:.1f}" for seconds in found["heal_s"]),
                " ".join(f"{seconds:.1f}" for seconds in found["return_s"]),
                found["ack_ms_median"],
                found["ack_ms_p99"],
            ]
            for found in runs
        ],
        note="from kill -9 until every topic has all copies its level asks for",
    )


def show_moves(moves: dict[str, Any]) -> None:
    """Print the moves."""
    print_table(
        "A topic moved under a writer and a subscriber",
        ["moves", "median ms", "max ms", "published", "seen", "lost", "repeated", "disordered"],
        [[moves[key] for key in (
            "moves", "move_ms_median", "move_ms_max", "published", "seen", "lost", "repeated",
            "disordered",
        )]],
    )  # fmt: skip


def show_balance(balance: dict[str, Any]) -> None:
    """Print the loads."""
    print_table(
        f"Node loads of growing topics, level {balance['level']}, % (SeDAX, Figure 6)",
        ["", "mean", "q95", "max"],
        [
            [name, *(balance[f"{name}_{key}"] for key in ("mean", "q95", "max"))]
            for name in ("live", "simulated")
        ]
        + [["paper, level 3", balance["paper"]["mean"], balance["paper"]["q95"], None]],
    )


def show_continuous(name: str, found: dict[str, Any]) -> None:
    """Print the loads under continuous balancing, alone or combined with addition."""
    paper = found["paper"]["balanced"]
    print_table(
        f"Node loads of growing topics, {name}, every {found['period_s'] / 100:g} s, % "
        "(SeDAX, VI, Table V)",
        ["", "level", "mean", "q95", "80 % of q95", "max"],
        [
            *(
                [*(row[key] for key in ("system", "level", "mean", "q95")), _span(row), row["max"]]
                for row in found["rows"]
            ),
            ["paper", 3, paper["mean"], paper["q95"], None, None],
        ],
        note=f"{found['moves']} moves of {found['moved']} units of load live,"
        f" {found['simulated_moved']} simulated",
    )


def _span(row: dict[str, Any]) -> str | None:
    """Return where most of several runs lie; None of a single one."""
    low, high = row["q95_range"]
    return f"{low:.0f} to {high:.0f}" if low < high else None


def show_addition(found: dict[str, Any]) -> None:
    """Print the loads of topics that were placed when they were made."""
    print_table(
        f"Node loads of {found['topics']} topics placed as they are made, level 3, % (SeDAX, VI-A)",
        ["", "mean", "q95", "max"],
        [
            *([row[key] for key in ("system", "mean", "q95", "max")] for row in found["rows"]),
            *(
                [f"paper, 100 nodes, {name}", one["mean"], one["q95"], None]
                for name, one in found["paper"].items()
            ),
        ],
        note=f"{found['brokers']} brokers; a topic is {found['topic_percent']} %; the highest live"
        f" load is {found['max_off_percent']} % above the simulated",
    )


def plot(path: Path, runs: list[dict[str, Any]]) -> None:
    """Draw how long the copies took after each death."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    for found in runs:
        heals = found["heal_s"]
        axes.plot(range(1, len(heals) + 1), heals, marker="o", label=f"level {found['level']}")
    axes.set(xlabel="death", ylabel="all copies made after, s", ylim=(0, None))
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    write_plot(path, figure)
