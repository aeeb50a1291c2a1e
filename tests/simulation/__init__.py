"""The product's hosts, links, journal and rules on one seeded scheduler, with a wire, disks and clocks that fail.

What is real: actors.host, execute, inbound, outbound, owner, timers, bus.journal's GroupWriter, bus.retention,
bus.link, session, sequence, codec, clock, and the roster's rules. What is simulated: time and order (scheduler.py), the
network (wire.py), the disk (store.py), threads and processes (host.py), clients (client.py), and what goes wrong
(options.py, nemesis.py). A run is a function of its seed and options; `python -m tests.simulation SEED` replays it.

Invariants, checked while a run goes on, at its end when faults are over and all is quiet, and once more after every
host was killed and only the disks are left:

1. Acknowledged implies present: what a client was told of a change is on disk at that moment and at the end.
2. One effect a call id, however often it is sent; a repeat hears the first answer.
3. A call that was refused as not done left nothing behind.
4. Calls of one link to one owner are decided in the order of sending.
5. Messages between owners arrive once each and in order; nothing is lost or doubled; only what nobody can decide
   becomes a dead letter.
6. No reply shows what is not on disk, nor less than any client was told before the call was made.
7. A reply waits for the messages that are marked before_reply, also a repeat's.
8. An owner's state in memory is what a reload of its rows builds.
9. Marks only grow; a journal has no gaps; outboxes drain; open calls are answered; everything becomes quiet.
10. A timer rings once, never early, and leaves no rows.
11. A canvas's revisions count 1..n without gaps, its history names each call once, and its scene is sound; the
    workspace's index knows it with its roles.
12. A thread ends at most once and both mailboxes agree on it; waiting counts, names and facts agree between owners.
13. No event of a process raises.
14. A call that a purse sends on (as an agent's owner does) is settled once or dies; nothing is spent without its effect
    and no effect comes without what it costs; not past its deadline, nor when what was approved has changed; who joins
    is answered after the purse was told.
15. When a narrowing is answered, no host honours an older stamp, and no call sent on before it is left.

16. The mesh (runtimes, leases, deadlines, the person's verbs): mesh_judge.py says what holds of it.

With torn rows all but 13 are judged for what is not damaged.
"""
