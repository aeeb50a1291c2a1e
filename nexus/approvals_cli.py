"""`nexus approvals`: what agents want to do and may not do alone, and the person's decision (common 5)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from bus.value import Record, records
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples, follow
from nexus.card_text import STATES, card_lines, cells_default
from nexus.output import fail, print_json, print_line, print_lines, print_list, shown, terminal_cells, time_text

ApprovalArgument: TypeAlias = Annotated[
    str, typer.Argument(help="The approval's id, as `nexus approvals list` shows it.", metavar="ID")
]
_COLUMNS: Final = ("id", "state", "agent", "workspace", "tool", "kind", "asked", "expires")

approvals = typer.Typer(
    help="Approvals: calls that wait for you. Each shows what NEXUS knows first, then what the agent wrote.",
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.add_typer(approvals, name="approvals", no_args_is_help=True)


@approvals.command("list", epilog=examples("nexus approvals list", "nexus approvals list --all --agent Ada --json"))
def approvals_list(
    all_kept: Annotated[bool, typer.Option("--all", help="Those that are decided or over, too.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", help="Only this agent's: an id or a name.")] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show approvals that wait or are granted and not used yet, newest last."""
    asked: Record = {"all": all_kept, "agent": agent, "workspace": workspace}
    answer = ask(home, "approvals.list", asked, "Reading the approvals")
    rows = [
        (
            *(one.get(name) for name in ("approvalId", "state", "agent", "workspace", "tool", "kind")),
            time_text(one.get("createdAt")),
            time_text(one.get("expiresAt")),
        )
        for one in records(answer, "approvals")
    ]
    print_list(answer, as_json, _COLUMNS, rows, "Nothing waits for your approval.")


@approvals.command("show", epilog=examples("nexus approvals show ID", "nexus approvals show ID --json"))
def approvals_show(approval: ApprovalArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show one card whole."""
    _print_card(_shown_card(home, approval), as_json)


@approvals.command("approve", epilog=examples("nexus approvals approve ID", "nexus approvals approve ID --json"))
def approvals_approve(approval: ApprovalArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Print the card and approve it: the same call may run once, within 15 minutes. Asks no further question.

    With --json two lines: the card, then the decision.
    """
    card = _shown_card(home, approval)
    _print_card(card, as_json)
    state = card.get("state")
    if state != "pending":
        was = STATES.get(str(state), "no longer waits")
        raise fail(f"Nothing was approved. This approval does not wait: {was}.", exit_codes.REFUSED)
    asked: Record = {"approvalId": approval, "decision": "approve", "seen": card.get("seen")}
    answer = ask(home, "approvals.decide", asked, "Approving")
    if answer.get("state") == "voided":
        raise fail(
            "Nothing runs: no run of the plan waits for this step any more, or it is refused as things stand now. "
            "`nexus plan show` says why.",
            exit_codes.REFUSED,
        )
    runs = answer.get("state") == "in_use"  # a step of a plan goes on by itself
    follows = "The plan goes on with it." if runs else "The agent may make this same call once, within 15 minutes."
    _print_decision(answer, as_json, f"Approved. {follows}")


@approvals.command(
    "deny", epilog=examples("nexus approvals deny ID", "nexus approvals deny ID --note 'Archive it instead'")
)
def approvals_deny(
    approval: ApprovalArgument,
    note: Annotated[str | None, typer.Option("--note", help="What the agent is told.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deny it. The agent is told so, with your note, when it makes the same call again."""
    asked: Record = {"approvalId": approval, "decision": "deny", "note": note}
    answer = ask(home, "approvals.decide", asked, "Denying")
    _print_decision(answer, as_json, "Denied.")


@approvals.command("watch", epilog=examples("nexus approvals watch", "nexus approvals watch --json"))
def approvals_watch(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the cards that wait, then each new one as it comes, until Ctrl-C. With --json one card a line."""
    try:
        for card in follow(home, "approvals.watch", {}):
            _print_card(card, as_json)
            if not as_json:
                print_line("")
                sys.stdout.flush()
    except KeyboardInterrupt:
        return  # the way the person ends it


def _shown_card(home: Path | None, approval: str) -> Record:
    return ask(home, "approvals.show", {"approvalId": approval}, "Reading the card")


def _print_card(card: Record, as_json: bool) -> None:
    if as_json:
        print_json(card)
    else:
        print_lines(card_lines(card, _terminal_cells()))


def _print_decision(answer: Record, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(answer)
    else:
        print_line(f"{sentence} ({shown(answer.get('approvalId'))})")


def _terminal_cells() -> int:
    """The width of the terminal that is printed to: a card breaks its own lines, since a terminal would begin the rest
    of one where only NEXUS begins lines."""
    return terminal_cells() or cells_default
