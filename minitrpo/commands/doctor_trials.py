"""What `doctor` has other processes try, as it may crash or hang: python -m minitrpo.commands.doctor_trials NAME."""

import sys


def ranks() -> None:
    """Send a message between the ranks; the first says how many there are, and by which MPI library they meet."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    total = comm.allreduce(1)
    if comm.rank == 0:
        print(f"{total} rank(s) meet by {MPI.Get_library_version()}")


def picture() -> None:
    """Draw one picture with MuJoCo, and say whether there is anything in it."""
    import gymnasium

    env = gymnasium.make("Reacher-v5", render_mode="rgb_array")
    env.reset(seed=0)
    print("a picture" if env.render().std() > 0 else "an empty picture")  # type: ignore[union-attr]


if __name__ == "__main__":
    {"ranks": ranks, "picture": picture}[sys.argv[1]]()
