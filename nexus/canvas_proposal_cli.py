"""`nexus canvas proposals`, `approve`, `reject` and `unlock`: what agents would change, and what they keep for
themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from bus.value import Record, Value, records
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.canvas_text import proposal_lines
from nexus.output import print_json, print_line, print_lines, shown, table, terminal_cells

Canvas = Annotated[str, typer.Argument(help="The canvas: an id or a title.")]
Proposal = Annotated[str, typer.Argument(help="The proposal's id, from `nexus canvas proposals`.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, in one line; the agent can read it.")]

_APPROVE: Final = (
    "Apply a proposal, as a revision of the agent that made it. Refused if what it touches was changed since."
)
_REJECT: Final = "Reject a proposal. The canvas stays as it is."


def register(canvases: typer.Typer) -> None:
    """Add the commands to `nexus canvas`."""
    listed = (
        "nexus canvas proposals 'The plan'",
        "nexus canvas proposals 'The plan' ID",
        "nexus canvas proposals 'The plan' --all --json",
    )
    canvases.command("proposals", epilog=examples(*listed))(canvas_proposals)
    canvases.command("approve", help=_APPROVE, epilog=examples("nexus canvas approve 'The plan' ID"))(
        _decide("approve", "Approving the proposal", "Approved: {title} is at revision {revision}.")
    )
    rejected = ("nexus canvas reject 'The plan' ID", "nexus canvas reject 'The plan' ID --reason 'keep the old names'")
    canvases.command("reject", help=_REJECT, epilog=examples(*rejected))(
        _decide("reject", "Rejecting the proposal", "Rejected; {title} stays as it is.")
    )
    unlocked = ("nexus canvas unlock 'The plan'", "nexus canvas unlock 'The plan' ELEMENT ELEMENT")
    canvases.command("unlock", epilog=examples(*unlocked))(canvas_unlock)


def canvas_proposals(
    canvas: Canvas,
    proposal: Annotated[str | None, typer.Argument(help="One proposal's id: show all of it.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were decided.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what commenters propose, oldest first; of one, what approving it now would do.

    With --json and one proposal the elements as they would be.
    """
    asked: Record = {"canvas": canvas, "proposal": proposal, "all": everything, "workspace": workspace}
    answer = ask(home, "canvas.proposals", asked, "Reading the proposals")
    if as_json:
        print_json(answer)
        return
    names = answer.get("names")
    known = names if isinstance(names, dict) else {}
    found = records(answer, "proposals")
    if proposal is not None:
        print_lines(line for one in found for line in proposal_lines(one, known))
    elif found:
        columns = ("id", "at", "by", "would have", "elements", "state", "reason")
        print_lines(table(columns, [_row(one, known) for one in found], terminal_cells()))
    else:
        print_line("No proposal waits." if not everything else "There is no proposal.")


def _row(one: Record, names: Record) -> tuple[Value, ...]:
    by, reason = str(one.get("by")), one.get("reason")
    why = reason.get("text") if isinstance(reason, dict) else reason
    beginning = (one.get("proposalId"), one.get("at"), names.get(by) or by, one.get("what"))
    return (*beginning, one.get("elementCount"), one.get("stage"), why)


def _decide(verb: str, doing: str, said: str) -> Callable[..., None]:
    """The command that approves or rejects. `said` is what it prints, with {title} and {revision}."""

    def decide(
        canvas: Canvas,
        proposal: Proposal,
        reason: Reason = None,
        workspace: WorkspaceOption = None,
        home: HomeOption = None,
        as_json: JsonOption = False,
    ) -> None:
        asked: Record = {"canvas": canvas, "proposal": proposal, "reason": reason, "workspace": workspace}
        answer = ask(home, f"canvas.{verb}", asked, doing)
        if as_json:
            print_json(answer)
        else:
            print_line(said.format(title=shown(answer.get("title")), revision=shown(answer.get("revision"))))

    return decide


def canvas_unlock(
    canvas: Canvas,
    elements: Annotated[
        list[str] | None, typer.Argument(help="Ids of elements. None: all that are locked.", metavar="[ELEMENT]...")
    ] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take locks off elements, whoever holds them. `nexus canvas show` tells what is locked."""
    wanted: list[Value] = [*(elements or [])]
    asked: Record = {"canvas": canvas, "elements": wanted, "workspace": workspace}
    answer = ask(home, "canvas.unlock", asked, "Taking the locks off")
    if as_json:
        print_json(answer)
        return
    ids = answer.get("elementIds")
    count = len(ids) if isinstance(ids, list) else 0
    print_line(f"{_counted(count, shown(answer.get('title')))} not locked any more." if count else "None was locked.")


def _counted(count: int, title: str) -> str:
    return f"1 element of {title} is" if count == 1 else f"{count} elements of {title} are"
