# ---
# jupyter:
#   timing: true
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07a MPI from zero
#
# **How do several processes work on one problem, although they share no memory?**
#
# <!-- loop -->
#
# Lecture 06 found that an iteration spends most of its time on playing episodes. One process plays them one after the other,
# while the other cores of the computer are idle. To use all cores we need several processes, and these have to tell each
# other what they have computed. The standard way to do this is **MPI**, the Message Passing Interface. It is used on laptops
# and on clusters with 100,000 processes, and the programs are the same. In this lecture you write your first MPI programs,
# and the last of them learns to balance a pole with several processes together.
#
# | in this notebook | in the package | written about in |
# |---|---|---|
# | `ring` | `mpi_scripts/first_steps/ring.py` | Gropp, Lusk & Skjellum, *Using MPI*, chapter 3 |
# | `mean_return` | `mpi_scripts/first_steps/mean_return.py` | the same, chapter 3 |
# | `reinforce` | `mpi_scripts/first_steps/reinforce.py` | Williams 1992; Frans & Hafner 2016, section 5 |
#
# *90 minutes in class with the exercises, about two minutes to run. You need Python with numpy, and lecture 01 for the policy
# gradient. You need not know anything about MPI.*

# %%
# %load_ext minitrpo.course.mpi
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, budget, compare, reveal, say_if_busy
from minitrpo.course.mpi import run_mpi

# %% [markdown]
# ## 1. Who am I?
#
# `mpiexec -n 3 python program.py` starts the same program three times. The three processes are called **ranks** and are
# numbered 0, 1, 2. All of them run the same lines, from the first to the last. They differ in one thing: each of them knows
# its own number. `comm.rank` is that number, and `comm.size` is the number of ranks. `comm` is a **communicator**: a group of
# ranks that can send messages to each other. `MPI.COMM_WORLD` is the group of all ranks.
#
# In this notebook a cell whose first line is `%%mpi -n 3` is such a program. Running the cell does the same as `mpiexec -n 3` in
# a terminal. The program is separate from the notebook: it does not see the variables of other cells, so it has to import
# what it uses. Each line that it prints is shown with the rank that printed it.
#
# The first line may have more options. `--by-rank` prints the lines rank after rank instead of as they come, `--show` draws the
# messages, and `--timeout 60` ends the program after 60 seconds. `--name hello` keeps the text of the program in the notebook's
# variable `hello`. Then the function call `run_mpi(hello, 3)` starts the program again on three ranks. Its argument
# `data={"count": 5}` takes the place of the program's line `count = ...`, and `names=["count"]` returns that variable of every
# rank.

# %% mpi="-n 3 --name hello"
from mpi4py import MPI

comm = MPI.COMM_WORLD
print("I am rank", comm.rank, "of", comm.size)

# %% [markdown]
# Run the cell a few times. If six runs are made, in how many different orders do the three lines come? (Three lines can come in
# six orders.)

# %% prediction="yes"
guess_orders = 1  # how many different orders in six runs: 1 to 6


# %%
def show_orders():
    """Print in which order the ranks printed their lines, in six runs."""
    orders = [tuple(rank for rank, _ in run_mpi(hello, 3).lines) for _ in range(6)]
    for order in orders:
        print("order of the lines:", *order)
    compare("different orders in six runs", guess_orders, len(set(orders)))


reveal(guess_orders, show_orders)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# There is no rule for the order. The ranks run at the same time, and the rank that is ahead prints first. Which rank that is
# depends on the operating system, and on what else the computer does. So a parallel program must never depend on which
# rank is faster. If you need an order, your program has to make it, by messages.
#
# </details>
#
# Now rank 1 changes a variable. What does rank 2 print?

# %% prediction="yes"
guess_apples = 99  # the apples that rank 2 has

# %% mpi="-n 3 --by-rank --name shared"
from mpi4py import MPI

comm = MPI.COMM_WORLD
apples = 10
if comm.rank == 1:
    apples = 99
comm.Barrier()  # no rank goes on before all ranks have come here
print("my apples:", apples)


# %%
def show_apples():
    """Compare the guess with the variable of rank 2."""
    compare("apples of rank 2", guess_apples, run_mpi(shared, 3, names=["apples"]).values[2]["apples"])


reveal(guess_apples, show_apples)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Rank 2 has 10 apples. Each rank is a process with a memory of its own, and each has its own variable `apples`. The assignment
# changed only the variable of rank 1. The **barrier** does not help: it makes ranks wait for each other, and it moves no
# data. A rank learns what another rank knows only if that rank sends a message.
#
# </details>
#
# ## 2. Send and receive
#
# `comm.send(object, dest=1)` sends a Python object to rank 1. `comm.recv(source=0)` waits for a message from rank 0 and returns
# the object. This is **point-to-point** communication: one rank sends, one rank receives, and both have to make a call. In
# the picture, time goes from left to right, each rank has a line, and the message is an arrow. Orange means that the rank
# waits inside a call.

# %% mpi="-n 2 --show"
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    time.sleep(0.1)  # rank 0 has something to do first
    comm.send([3, 1, 4], dest=1)
else:
    numbers = comm.recv(source=0)
    print("received", numbers)

# %% [markdown]
# Rank 1 has received a *copy* of the list. If it changed the list, the list of rank 0 would stay as it is.
#
# Two messages from the same sender can be told apart by a **tag**, a whole number: `comm.send(x, dest=1, tag=7)` is received by
# `comm.recv(source=0, tag=7)`, and not by a `recv` that asks for another tag. Without `tag=`, `send` uses the tag 0, and
# `recv` accepts any tag. Messages from one sender with the same tag are received in the order in which they were sent.
#
# ### Exercise 1: `ring` (easy, 9 minutes)
#
# The ranks sit in a circle. The neighbour on the right of rank 0 is rank 1, and the neighbour on the right of the last rank is
# rank 0. Rank $r$ knows only its own number, `numbers[r]`. We want rank 0 to know the sum. Therefore a total goes once round
# the circle. For three ranks with the numbers 3, 1 and 4 there are three messages: rank 0 sends 3 to rank 1, rank 1 sends 3 + 1 = 4
# to rank 2, and rank 2 sends 4 + 4 = 8 to rank 0, which keeps it as `total`.
#
# The check runs your program on 1, 2, 3 and 5 ranks, with other numbers. It replaces the line `numbers = ...`, so leave that
# line as it is. With one rank there is nobody to send to; the `if` in the program takes care of this.

# %% exercise="ring" mpi="-n 3 --show"

# %% [markdown]
# ### A deadlock
#
# Two ranks want to exchange a number. Each of them receives first and sends afterwards. (`--fails` in the first line says that
# this program is meant to fail.) What will happen?

# %% mpi="-n 2 --fails --show"
from mpi4py import MPI

comm = MPI.COMM_WORLD
other = 1 - comm.rank
theirs = comm.recv(source=other)
comm.send(comm.rank, dest=other)
print("received", theirs)

# %% [markdown]
# Rank 0 waits for a message that rank 1 would send after its own `recv`. Rank 1 waits for a message that rank 0 would send
# after its `recv`. Neither can go on. This is called a **deadlock**: a circle of ranks, each of which waits for the next one.
# MPI itself reports no error. In a terminal such a program stays silent until somebody ends it. The `%%mpi` cell notices
# that no rank can go on, ends the program, and says in which line each rank waits. (The line with `%%mpi` is line 1.)
#
# So let both ranks *send* first. The next program does that with 100 numbers of 8 bytes each.

# %% mpi="-n 2 --name both_send"
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
count = 100
other = 1 - comm.rank
comm.send(np.zeros(count), dest=other)
theirs = comm.recv(source=other)
print("received", len(theirs), "numbers")

# %% [markdown]
# It works. With `count = 1_000_000` the same program hangs: try it in the cell above, and set `count` back to 100 afterwards.
# Somewhere between a hundred and a million numbers there is a border. How large can a message be, in kilobytes, before this
# program hangs? The next cell searches for the border by bisection. (8 kilobytes are 1,000 numbers.)

# %% prediction="yes"
guess_border = 1000  # kilobytes of the largest message with which both ranks can send first


# %%
def show_border():
    """Search for the message size from which on two ranks that both send first wait for ever."""
    works, hangs = 100, 1_000_000  # numbers
    while hangs > budget(1.1, 3.0) * works:
        middle = round((works * hangs) ** 0.5)
        done = run_mpi(both_send, 2, data={"count": middle})
        print(f"{middle:>9,} numbers: {'works' if done.ok else 'hangs'}", flush=True)
        works, hangs = (middle, hangs) if done.ok else (works, middle)
    compare("largest message that works", guess_border, round(8 * works / 1000, 1), "kB")


reveal(guess_border, show_border)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# MPI sends small and large messages in two ways.
#
# - A small message is sent **eagerly**: MPI copies it into a buffer at the receiver. `send` returns at once, although the
#   receiver has not called `recv` yet.
# - A large message would need too large a buffer. MPI uses a **rendezvous**: `send` first asks the receiver whether it is
#   ready, waits until the receiver calls `recv`, and only then moves the data.
#
# So `send` may return before the message is received, or it may wait. The border depends on the MPI library, on its version
# and on the network. MPI's standard promises only this: once `send` has returned, you may change the data. It
# does not say whether the message has been received. A program that
# works only because its messages are small contains a deadlock, and this deadlock appears when the data grow.
#
# </details>
#
# The cure is `sendrecv`: one call that sends and receives. MPI takes care that neither blocks the other. Here three ranks pass
# a million numbers to the right, all at the same time.

# %% mpi="-n 3 --show"
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
theirs = comm.sendrecv(np.full(1_000_000, comm.rank), dest=right, source=left)
print("received a million times the number", theirs[0])

# %% [markdown]
# ## 3. From all ranks to one
#
# Every rank has played two episodes with the same policy, and rank 0 wants to know the mean return. The returns of rank $r$ are
# made up here: $10 r + 1$ and $10 r + 3$. The first version uses only what you know: every rank sends the mean of its returns to
# rank 0, which receives one message after the other.

# %% mpi="-n 4 --name by_send --show"
from mpi4py import MPI

comm = MPI.COMM_WORLD
own_mean = (10 * comm.rank + 1 + 10 * comm.rank + 3) / 2
if comm.rank > 0:
    comm.send(own_mean, dest=0)
else:
    means = [own_mean] + [comm.recv(source=rank) for rank in range(1, comm.size)]
    print("mean return of all ranks:", sum(means) / comm.size)

# %% [markdown]
# This pattern is so frequent that MPI has a call for it. **`gather`** is **collective**: *all* ranks make the call, each gives
# one object, and one rank, the **root**, gets a list of all objects in the order of the ranks. The root is rank 0 unless you
# say `root=2`. What do the other ranks get?

# %% mpi="-n 4 --show --by-rank"
from mpi4py import MPI

comm = MPI.COMM_WORLD
own_mean = (10 * comm.rank + 1 + 10 * comm.rank + 3) / 2
means = comm.gather(own_mean)
print("gather has returned", means)
if comm.rank == 0:
    print("mean return of all ranks:", sum(means) / comm.size)

# %% [markdown]
# Only the root gets the list. On the other ranks `gather` returns `None`. If all ranks need the list, the call is
# `allgather`. In the picture, the coloured band is the collective call: a rank is in it from the moment it makes the call
# until the call returns. Some ranks leave early. Once a rank has given its object, it need not wait for the others, so
# `gather` is not a barrier.
#
# Rank 0 needs only the sum of the four numbers, so the list is more than it needs. **`reduce`** adds the numbers of all ranks
# up, and the root gets the sum. Other operations than the sum are possible, such as `comm.reduce(x, op=MPI.MAX)`. Again the
# other ranks get `None`.

# %% mpi="-n 4 --by-rank"
from mpi4py import MPI

comm = MPI.COMM_WORLD
own_mean = (10 * comm.rank + 1 + 10 * comm.rank + 3) / 2
added = comm.reduce(own_mean)
print("reduce has returned", added)
if comm.rank == 0:
    print("mean return of all ranks:", added / comm.size)

# %% [markdown]
# How many messages does rank 0 receive in the version with `send`, on 8 ranks? And how many would it receive in `reduce`, if the
# ranks first formed pairs, one of each pair sent its number to the other, and the remaining ranks formed pairs again?

# %% prediction="yes"
guess_by_send = 8  # messages that rank 0 receives from send, 8 ranks
guess_by_tree = 8  # messages that rank 0 receives if the ranks form pairs, 8 ranks


# %%
def show_messages_to_the_root():
    """Count the messages to rank 0: those of the program with send, and those of a tree of pairs."""
    received = [message for message in run_mpi(by_send, 8).messages if message.dest == 0]
    compare("messages to rank 0 by send, 8 ranks", guess_by_send, len(received))
    compare("messages to rank 0 in a tree of pairs, 8 ranks", guess_by_tree, int(np.log2(8)))
    for ranks in (64, 1024):
        print(f"with {ranks:>5,} ranks: {ranks - 1:>5,} messages by send, {int(np.log2(ranks)):>2} in a tree")


reveal((guess_by_send, guess_by_tree), show_messages_to_the_root)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With `send`, rank 0 receives $p - 1$ messages one after the other. In a tree of pairs all pairs work at the same time, and rank 0
# receives $\log_2 p$ messages. Collective calls use such trees, so with many ranks they are faster than a loop of `recv`, and
# shorter to write. (The messages inside a collective call are made by MPI itself. They are not recorded, so the picture shows
# a band instead of arrows.)
#
# </details>
#
# | call | every rank gives | who gets what |
# |---|---|---|
# | `x = comm.bcast(x)` | only the root's `x` counts | every rank: the root's object |
# | `x = comm.scatter(parts)` | the root: a list with one part per rank | rank $r$: part $r$ |
# | `parts = comm.gather(x)` | an object | the root: the list of all; the others: `None` |
# | `total = comm.reduce(x)` | a number or an array | the root: the sum; the others: `None` |
# | `total = comm.allreduce(x)` | a number or an array | every rank: the sum |
# | `comm.Barrier()` | nothing | nobody gets anything; all wait for the last rank |
#
# There is one rule for all of them: *every* rank of the communicator makes the call, in the same order, with the same root.
# Rank 2 breaks the rule in the next program, because it has nothing to say. What will happen: will the root get a list
# without rank 2, will there be an error, or will the program have no end?

# %% prediction="yes"
guess_skipped = "an error"  # "a list without rank 2", "an error" or "no end"

# %% mpi="-n 3 --fails --name skipping"
from mpi4py import MPI

comm = MPI.COMM_WORLD
returns = [21.0, 34.0] if comm.rank < 2 else []
if returns:
    everything = comm.gather(returns)
if comm.rank == 0:
    print("gathered", everything)


# %%
def show_skipped():
    """Say how the program ends in which rank 2 skips a collective call."""
    result = run_mpi(skipping, 3)
    compare("the program with a rank that skips gather has", guess_skipped, "an end" if result.ok else "no end")


reveal(guess_skipped, show_skipped)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The root waits for rank 2, which has come to the end of its program. MPI does not know that rank 2 will never call `gather`.
# Hence: a rank without data makes the same calls and gives *empty* data.
#
# </details>
#
# ### Exercise 2: `mean_return` (medium, 7 minutes)
#
# Until now all ranks had played equally many episodes. That is rarely so. Suppose rank 0 has the returns 10 and 90, and rank 1
# has the return 20. The mean of all three episodes is 40. The mean of the ranks' means is (50 + 20) / 2 = 35, which is wrong:
# it counts the one episode of rank 1 as much as the two of rank 0. And a rank may have no episode at all. Then it has no
# mean, and its program must not divide by zero.
#
# At the end, `mean` on rank 0 has to be the mean return of *all* episodes. Use `reduce` or `gather`. The check runs your program
# with other returns, also with fewer episodes than ranks.

# %% exercise="mean_return" mpi="-n 3"

# %% [markdown]
# ## 4. From one rank to all: `bcast`, and a classic error
#
# Rank 0 has a policy for CartPole: the probability of pushing the cart to the right is $1 / (1 + e^{-\theta \cdot s})$, with four
# parameters $\theta$ and the observation $s$. To estimate its mean return, three ranks play four episodes each. First, all
# ranks need $\theta$. **`bcast`** (broadcast) gives the object of the root to every rank. Before the call the others may have
# anything in the variable, here `None`.

# %% mpi="-n 3 --by-rank --name evaluation"
import gymnasium
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
env = gymnasium.make("CartPole-v1")


def play(theta, seed):
    """Return the return of one episode; the seed decides the first state and all actions."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        probability = 1 / (1 + np.exp(-observation @ theta))
        observation, reward, terminated, truncated, _ = env.step(int(rng.random() < probability))
        total, done = total + reward, terminated or truncated
    return total


theta = np.array([0.1, 0.2, 1.0, 0.5]) if comm.rank == 0 else None
theta = comm.bcast(theta, root=0)  # the root is rank 0, as it is if you do not name it
returns = [play(theta, seed) for seed in range(4)]
everything = comm.gather(returns)
if comm.rank == 0:
    together = np.concatenate(everything)
    error = together.std(ddof=1) / np.sqrt(len(together))
    print(f"mean return of {len(together)} episodes: {together.mean():.1f}, standard error {error:.1f}")

# %% [markdown]
# The program prints a mean and a standard error, and both look sensible. But the program contains an error that makes the
# standard error too small. Do not look for it in the text. Look at the numbers: add `print(returns)` after the line that
# plays, and run the cell again. How many *different* returns are there among the twelve?

# %% prediction="yes"
guess_different = 12  # different returns among twelve


# %%
def show_seeds():
    """Print the returns of all ranks, with the seeds of the program and with a seed for every episode."""
    repaired = evaluation.replace("range(4)", "range(4 * comm.rank, 4 * comm.rank + 4)")
    for what, program in (("as it is", evaluation), ("repaired", repaired)):
        result = run_mpi(program, 3, names=["returns", "error"])
        print(f"{what}: standard error {result.values[0]['error']:.1f}")
        for rank, values in enumerate(result.values):
            print(f"  returns of rank {rank}:", *values["returns"])
        if what == "as it is":
            everything = {value for values in result.values for value in values["returns"]}
            compare("different returns among twelve", guess_different, len(everything))


reveal(guess_different, show_seeds)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# All ranks play the *same* four episodes. All ranks run the same lines, so all use the seeds 0, 1, 2, 3. The program spends the
# time of twelve episodes and learns no more than four of them could say. The formula for the standard error divides by
# $\sqrt{12}$, as if there were twelve independent episodes. The right divisor is $\sqrt{4}$, so the printed error is too
# small by a factor of about $\sqrt{3}$.
#
# The cure is a seed that depends on the rank, or better, on the number of the episode. MPI gives no warning of this error,
# because for MPI it is none. You find it only by looking at the numbers of the single ranks.
#
# </details>
#
# ## 5. Parallel REINFORCE
#
# Now you have all the parts of a parallel learner. Each iteration has four steps:
#
# 1. rank 0 **broadcasts** $\theta$;
# 2. every rank **plays** its share of the episodes with $\theta$, and computes the sum of the scores,
#    $\sum_t \nabla_\theta \log \pi_\theta(a_t \mid s_t)$, of each episode (lecture 01);
# 3. rank 0 **gathers** one row (return, sum of scores) for each episode;
# 4. rank 0 makes a **step** along the policy gradient: the mean of (return - mean return) times the sum of scores.
#
# The 20 episodes of an iteration have numbers. Rank $r$ of $p$ plays the numbers $r$, $r + p$, $r + 2 p$, and so on, and the
# seed belongs to the number. So any number of ranks plays the same 20 episodes.
#
# ### Exercise 3: `reinforce` (medium, 8 minutes)
#
# The playing and the step are there. The communication is missing. As long as it is missing, every rank learns alone from its own
# ten episodes. What mean return does rank 0 reach in the last of 40 iterations, when all ranks work together? (The most that an
# episode can have is 500.)

# %% prediction="yes"
guess_reached = 100  # mean return of the last iteration

# %% exercise="reinforce" mpi="-n 2 --timeout 60"


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_learning():
    """Draw the mean return of the iterations of `reinforce`, and compare the last one with the guess."""
    program = mine.reinforce.replace("if iteration % 10 == 9:", "if True:")
    iterations = budget(40, 4)
    result = run_mpi(program, 2, timeout=60, data={"iterations": iterations})
    numbers = [text.partition("mean return ")[2].split() for rank, text in result.lines if "mean return " in text]
    curve = [float(words[0]) for words in numbers]
    compare("mean return of the last iteration", guess_reached, curve[-1])
    _, axis = plt.subplots(figsize=(7, 3), layout="tight")
    axis.plot(range(1, len(curve) + 1), curve, "o-", color=BLUE, markersize=4)
    axis.set(xlabel="iteration", ylabel="mean return of 20 episodes", ylim=(0, 520))
    axis.set_title("REINFORCE on two ranks learns to balance the pole", fontsize=11)
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_reached, show_learning)

# %% [markdown]
# ### Why gather to rank 0?
#
# Rank 0 makes the step alone, while the other ranks wait. There are two questions to ask about this.
#
# *What travels?* Here it is one row of 5 numbers per episode. In TRPO it is all steps of an episode: observation, action and
# reward, about 20 numbers per step. A batch of 20,000 steps is 3 megabytes, which a memory bus moves in
# milliseconds and a network in a few hundredths of a second. The alternative is that each rank computes a gradient of its own
# samples and sends only that: $P$ numbers, about 5,000, whatever the size of the batch.
#
# *What is sequential?* REINFORCE needs one gradient per iteration, so sending gradients is simple (section 6). TRPO needs more: the
# conjugate gradient method asks for about ten products of the Fisher matrix with a vector, and each vector depends on the product
# before it. Then the line search tries steps one after the other. If the samples stay on the ranks, each of these products
# and trials is one `allreduce`, about a dozen per update, one after the other. If rank 0 has all samples, one `gather` is enough,
# and the rest is an ordinary program on one rank. That is why the paper of 2016, and `train.py` with
# `--learner root`, gather to rank 0. The price is that the other ranks wait during the update. By Amdahl's law (lecture 06)
# this limits the speed-up, so the package can also do it the other way: `--learner sharded`.
#
# ## 6. The same with `allreduce`
#
# **`allreduce`** adds up the arrays of all ranks, and *every* rank gets the sum. The step needs only four sums over episodes:
# return times scores, scores, returns, and the number of episodes. With $n$ episodes, returns $R_i$ and sums of scores $g_i$, the
# mean of $(R_i - \bar R)\, g_i$ is $(\sum R_i g_i - \bar R \sum g_i) / n$, where $\bar R = \sum R_i / n$. These are
# $4 + 4 + 1 + 1 = 10$ numbers per rank, for any number of episodes. All ranks then make the same step with the same sums, so no rank needs to broadcast $\theta$.

# %% mpi="-n 2 --timeout 60 --name by_allreduce"
import gymnasium
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
env = gymnasium.make("CartPole-v1")
iterations = 40
episodes = 20


def play(theta, seed):
    """Return the return of one episode, and the sum of the scores of its actions."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    total, score, done = 0.0, np.zeros(4), False
    while not done:
        probability = 1 / (1 + np.exp(-observation @ theta))
        action = int(rng.random() < probability)
        score += (action - probability) * observation
        observation, reward, terminated, truncated, _ = env.step(action)
        total, done = total + reward, terminated or truncated
    return total, score


theta = np.zeros(4)
for iteration in range(iterations):
    sums = np.zeros(10)
    for number in range(comm.rank, episodes, comm.size):
        total, score = play(theta, episodes * iteration + number)
        sums += np.concatenate([total * score, score, [total, 1]])
    sums = comm.allreduce(sums)
    theta = theta + 0.02 * (sums[:4] - sums[8] / sums[9] * sums[4:8]) / sums[9]
    if iteration % 10 == 9 and comm.rank == 0:
        print(f"iteration {iteration + 1}: mean return {sums[8] / sums[9]:.1f} of {sums[9]:.0f}")

# %% [markdown]
# Both programs play the same episodes, and both compute the same formula. After 5 iterations, by how much does $\theta$ differ
# between the two programs, and between 1, 2 and 3 ranks? Guess the largest difference in any of the four parameters.

# %% prediction="yes"
guess_apart = 0.0  # largest difference in theta after 5 iterations


# %%
def show_apart():
    """Print theta after 5 iterations of both programs on 1, 2 and 3 ranks."""
    found = {}
    for name, program in (("gather", mine.reinforce), ("allreduce", by_allreduce)):
        for ranks in (1, 2, 3):
            result = run_mpi(program, ranks, timeout=60, data={"iterations": 5}, names=["theta"])
            found[name, ranks] = result.values[0]["theta"]
    first = found["gather", 1]
    print("theta:", *(f"{number:.6f}" for number in first))
    for (name, ranks), theta in found.items():
        print(f"{name:>9} on {ranks} ranks: differs by {np.abs(theta - first).max():.1e}")
    compare("largest difference", guess_apart, float(max(np.abs(theta - first).max() for theta in found.values())))


reveal(guess_apart, show_apart)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The results agree in about 15 digits, and not in all bits. The reason is the order of additions. A computer rounds after each
# addition, so `(0.1 + 0.2) + 0.3` is 0.6000000000000001 and `0.1 + (0.2 + 0.3)` is 0.6. Two ranks add up their own episodes first
# and then add the two sums; one rank adds all episodes in one row. The same holds for `gather`, because the rows come in the
# order of the ranks: first all rows of rank 0, then all rows of rank 1.
#
# Is a difference in the last digit harmless? Often it is. But sooner or later it changes one action, and then the two runs have
# different episodes. Lecture 07b makes a parallel program whose results are bitwise equal for any number of ranks.
#
# </details>
#
# ## 7. Lower case and upper case
#
# mpi4py has two calls for everything. `comm.bcast(x)`, in lower case, takes any Python object: it turns the object into bytes
# (it **pickles** it), sends the bytes, and builds a new object from them. `comm.Bcast(array)`, in upper case, takes the memory of
# a numpy array and sends it as it is. The receiver has to have an array of the same size and type already, and `Bcast` writes
# into it. For the parameters of a small network, 5,000 numbers, and of a large one, 5,000,000 numbers: how many times as fast is
# `Bcast`? (`--plain` in the first line of the program's cell says that its calls are not recorded for pictures and explanations.
# Recording a call takes some ten microseconds, which would be part of the times.)

# %% prediction="yes"
guess_small = 2.0  # time of bcast / time of Bcast, 5,000 numbers
guess_large = 2.0  # the same, 5,000,000 numbers

# %% mpi="-n 2 --timeout 60 --plain --name two_cases"
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
repeats = 10
milliseconds = {}

for size in (5_000, 5_000_000):
    theta = np.full(size, 1.0 + comm.rank)
    for name in ("bcast", "Bcast"):
        times = []
        for _ in range(repeats):
            comm.Barrier()  # all ranks begin together
            begin = MPI.Wtime()  # the clock of MPI, in seconds
            if name == "bcast":
                received = comm.bcast(theta)  # a new array on rank 1
            else:
                comm.Bcast(theta)  # into the array of rank 1
            times.append(comm.allreduce(MPI.Wtime() - begin, MPI.MAX))  # of the slower rank
        milliseconds[name, size] = 1000 * min(times)
        if comm.rank == 0:
            print(f"{name} of {size:>9,} numbers: {milliseconds[name, size]:.3g} ms")


# %%
def show_cases():
    """Compare the times of the lower-case and the upper-case call."""
    say_if_busy(instead="")
    times = run_mpi(two_cases, 2, timeout=60, names=["milliseconds"], record=False).values[0]["milliseconds"]
    for guess, size in ((guess_small, 5_000), (guess_large, 5_000_000)):
        compare(f"bcast / Bcast, {size:,} numbers", guess, times["bcast", size] / times["Bcast", size])


reveal((guess_small, guess_large), show_cases)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# For small arrays both take a fraction of a millisecond, and the difference does not matter beside an iteration of a second. For
# large arrays pickling copies 40 megabytes several times, and `Bcast` copies them once. Rule: lower case for a few objects of
# any kind, upper case for large arrays whose size all ranks know. With upper case, a wrong size is your error: the
# program is ended, or the array has wrong numbers in it.
#
# </details>
#
# ## In a terminal
#
# The finished programs of this lecture are in `mpi_scripts/first_steps/`, one idea in each. In a terminal, in the folder of the
# project, they are started by `mpiexec`:
#
# ```
# mpiexec -n 3 python mpi_scripts/first_steps/ring.py
# mpiexec -n 2 python mpi_scripts/first_steps/reinforce.py
# ```
#
# `%%mpi -n 3 --save ring.py` in the first line of a cell writes the program of the cell to a file, so that you can start your
# own programs in the same way.
#
# ## Bug hunt
#
# This is a version of REINFORCE with `allreduce` that a colleague has shortened: she noticed that the number of episodes need not
# be sent. She tested it on one and on two ranks, and it gave the right $\theta$. `hunt` runs it on other numbers of ranks. Find
# the line, repair it in the cell, run the cell, and run the hunt again.

# %% mpi="-n 2 --timeout 60 --name suspect"
import gymnasium
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
env = gymnasium.make("CartPole-v1")
iterations = 3
episodes = 20
step_size = 0.02
first_seed = 0


def play(theta, seed):
    """Return the return of one episode, and the sum of the scores of its actions."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    total, score, done = 0.0, np.zeros(4), False
    while not done:
        probability = 1 / (1 + np.exp(-observation @ theta))
        action = int(rng.random() < probability)
        score += (action - probability) * observation
        observation, reward, terminated, truncated, _ = env.step(action)
        total, done = total + reward, terminated or truncated
    return total, score


theta = np.zeros(4)
for iteration in range(iterations):
    numbers = range(comm.rank, episodes, comm.size)
    sums = np.zeros(9)
    for number in numbers:
        total, score = play(theta, first_seed + episodes * iteration + number)
        sums += np.concatenate([total * score, score, [total]])
    sums = comm.allreduce(sums)
    played = comm.size * len(numbers)
    theta = theta + step_size * (sums[:4] - sums[8] / played * sums[4:8]) / played
print("theta:", np.round(theta, 4))

# %%
_ = hunt("reinforce", suspect)

# %% [markdown] solution="only"
# **The bug**: `played = comm.size * len(numbers)`. It is the number of all episodes only if every rank has played equally many, as
# 20 episodes on 1 or 2 ranks. With 4 episodes on 3 ranks, rank 0 computes 6 and the others compute 3. So the ranks do not
# even agree: each makes another step, and from then on they play with different parameters. The number has to be added up
# like everything else. (Here `played = episodes` is right, too, as long as all episodes are played.)

# %% [markdown]
# ## Quiz
#
# **1.** In `reinforce`, 20 episodes are played on 24 ranks. What happens on ranks 20 to 23, and does the program still work?
#
# <details><summary>Answer</summary>
#
# These ranks have no episode, and `rows` is an empty list. They still make both collective calls, `bcast` and `gather`, and give
# the empty list, so the program works. It would hang if they skipped `gather`, and it would fail if they computed the mean of
# no returns. Tempting: "the root waits for them in vain". It would, if they made no call.
#
# </details>
#
# **2.** During iteration 7, rank 1 raises an exception. What do the other ranks do?
#
# <details><summary>Answer</summary>
#
# They wait in `gather` or `bcast` for rank 1. Python ends rank 1, and what happens then depends on how it was started: a plain
# `mpiexec -n 3 python program.py` may wait for ever, because the other ranks do not learn of the exception. `mpiexec -n 3 python -m
# mpi4py program.py` ends all ranks when one of them raises an exception. `%%mpi` and `train.py` do so, too. If a process is killed,
# `mpiexec` notices it and ends the others. Tempting: "the other ranks go on without it". MPI's collective calls
# need all ranks.
#
# </details>
#
# **3.** A program with 8 ranks is slower than with 2, on a computer with 2 cores. Is it wrong?
#
# <details><summary>Answer</summary>
#
# No. Eight ranks on two cores take turns, so nothing is computed faster, and each message may have to wait until the receiver
# has its turn. Even with eight cores, more ranks need not be faster: messages cost time, and what one rank does alone is not
# shared (lectures 06 and 08). Tempting: "more ranks are always faster".
#
# </details>
#
# **4.** A rank needs the list that `gather` has collected on rank 0. A friend adds `comm.Barrier()` behind `gather`, "so that the
# list has arrived". Does that help?
#
# <details><summary>Answer</summary>
#
# No. A barrier makes ranks wait and moves no data. The list is on rank 0 alone, before and after the barrier. The call that gives
# the list to every rank is `allgather`, or a `bcast` of the gathered list.
#
# </details>
#
# ## Summary
#
# Learn these seven points by heart.
#
# - All ranks run the same program. They share no variable, and their order in time is not fixed.
# - `recv` waits for its message. `send` may return at once (small messages, eager) or wait for the receiver (large messages,
#   rendezvous).
# - A deadlock is a circle of ranks that wait for each other. `sendrecv` exchanges data without one.
# - Every rank makes every collective call, in the same order and with the same root. A rank without data gives empty data.
# - `gather` and `reduce` give the result to the root alone; `allgather` and `allreduce` give it to all; a barrier moves no data.
# - Add up sums and counts, not means. Give every episode its own seed, not every program.
# - Sums over ranks are equal up to rounding, because the order of the additions differs.
#
# ## Open questions
#
# 1. Measure with `MPI.Wtime()` how long one round of your ring takes on 2, 4 and 8 ranks, and how long `comm.allreduce(number)`
#    takes. Take the smallest of 100 repeats. Plot both against the number of ranks. Explain in three sentences how many
#    messages follow one after the other in each of them, and what your number of cores changes.
# 2. Change `reinforce` so that $\theta$ is bitwise equal on 1, 2 and 3 ranks: send the number of the episode in each row, and
#    sort. Show by `run_mpi` that it is. Explain in three sentences why this is easy with `gather` and hard with `allreduce`.
#
# ## Read on
#
# - W. Gropp, E. Lusk & A. Skjellum, *Using MPI*, third edition, 2014: the textbook, with programs that one can type.
# - L. Dalcin & Y.-L. Fang, *mpi4py: Status update after 12 years of development*, Computing in Science & Engineering 23, 2021: the library
#   that you have used; its documentation has a tutorial with one example per call.
# - R. Thakur, R. Rabenseifner & W. Gropp, *Optimization of collective communication operations in MPICH*, International Journal of High
#   Performance Computing Applications 19, 2005: what happens inside `bcast`, `reduce` and `allreduce`.
#
# **Next**: lecture 07b shares episodes of unequal length by a pool, and makes the result bitwise equal on any number of ranks.
