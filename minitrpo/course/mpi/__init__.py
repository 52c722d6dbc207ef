"""MPI programs as code in a notebook cell, with deadlocks that explain themselves and messages that can be seen.

In a notebook, `%load_ext minitrpo.course.mpi` gives

    %%mpi -n 3
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    print("hello from", comm.rank)

The cell is a program, written to a file and run by `mpiexec -n 3`; its lines are printed as they arrive, as
"rank 0 | hello from 0". The kernel itself never starts MPI, and the program does not see the notebook's variables.

    -n RANKS            how many ranks, 2 if it is not said
    --timeout SECONDS   after which the program is ended and explained, 10 if it is not said
    --save FILE.py      keeps the program, for `mpiexec -n 3 python FILE.py` in a terminal; lines have the same numbers
    --name NAME         keeps the program's text in the notebook's variable NAME: what a check runs on other ranks
    --show              draws the messages, as show_messages() does afterwards
    --by-rank           prints the lines of rank 0 first, then those of rank 1, ...
    --fails             says that this program is meant to fail: the cell prints why, and is no error
    --plain             writes no MPI call down: for a program that measures how long calls take, as writing a call down
                        takes some 20 microseconds, of a pickled object 60

Line 1 of the cell is that of %%mpi, also in messages. A program that fails is an error of the cell, without a
traceback; in JupyterLab it is only shown, so that "Run All" goes on.

For checks and tests there is the function, which never prints:

    result = run_mpi(source, 3, data={"numbers": [4, 5, 6]}, names=["total"])
    result.ok                     every rank came to the end of the program
    result.values[1]["total"]     the variable `total` of rank 1 at the end; not there if the rank has none
    result.outputs[1]             what rank 1 printed; result.lines: (rank, line) in the order of arrival
    result.explanation            why it failed, one sentence a line, and what is odd about a program that did end
    result.cause                  "cycle", "tag", "skipped", "raised", ...: see explain.Finding; "" if all is well
    result.findings, .notes       the same with the ranks and lines that each sentence names
    result.messages               from rank to rank: source, dest, tag, size, sent, received, send.line, ...
    result.calls                  all MPI calls: rank, name, line, begin, end, ...; collective ones, too

`data` takes the place of what the program assigns itself: a student's `numbers = [1, 2, 3]` at the top level is left
out if data has `numbers`, so that one program runs in its cell, in a terminal, and in a check with other numbers.

Whatever happens, no process is left. recorder.py writes the calls down, record.py reads them, explain.py makes
sentences of them, diagram.py a picture.
"""

from minitrpo.course.mpi.magic import in_notebook, load_ipython_extension, show_messages
from minitrpo.course.mpi.run import MpiResult, run_mpi

__all__ = ["MpiResult", "load_ipython_extension", "run_mpi", "show_messages"]

in_notebook()
