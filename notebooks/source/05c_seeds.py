# ---
# jupyter:
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
# # 05c What can five seeds prove?
#
# **Two runs differ. When may you say that the two methods differ?**
#
# <!-- loop -->
#
# In lecture 05b a change in the last digit of theta became another run. So a single learning curve does not show how good an
# algorithm is: another seed would have given another curve. Papers and project reports answer with "five seeds", a mean and a
# band. Today you find out how much such a table can prove. You write four short functions, and at the end you apply them to eight
# recorded seeds of two algorithms on three tasks. On one of the tasks the table does not show which algorithm is better, although a careless reader of the means would say so.
#
# | in this notebook | in the package | source |
# |---|---|---|
# | `interquartile_mean`, `probability_of_improvement` | `minitrpo/course/seeds.py` | Agarwal et al. 2021 |
# | `rank_chance` | `minitrpo/course/seeds.py` | Wilcoxon 1945; Mann & Whitney 1947 |
# | `corrected` | `minitrpo/course/seeds.py` | Holm 1979 |
# | intervals | `minitrpo/course/statistics.py` | Student 1908; Welch 1947 |
#
# *90 minutes in class with the exercises. The notebook runs in a few seconds. You need lecture 05b, and the words mean, standard
# deviation and probability.*

# %%
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import ArrayLike
from scipy.stats import bootstrap, rankdata

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, recorded, reveal
from minitrpo.course.seeds import difference_in_words
from minitrpo.course.statistics import half_interval, mean_interval
from minitrpo.policies import Array

# %% [markdown]
# ## 1. Fifteen comparisons of a method with itself
#
# **Swimmer** is a chain of three links in a thick fluid that is rewarded for moving forward. We recorded five runs of TRPO on it. They
# differ in the **seed** alone, the number that decides all random numbers of a run.

# %%
table = np.genfromtxt(recorded("05_seeds.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
rows = table[table["env"] == "Swimmer-v5"]
swimmer = np.array([rows["mean_return"][rows["seed"] == seed] for seed in np.unique(rows["seed"])])  # (seeds, updates)
steps = rows["env_steps"][rows["seed"] == 0]

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
mean, width = swimmer.mean(axis=0), half_interval(swimmer)
axis.fill_between(steps / 1e3, mean - width, mean + width, color=BLUE, alpha=0.15, label="95 % interval of the mean")
for seed, curve in enumerate(swimmer):
    axis.plot(steps / 1e3, curve, color=BLUE, linewidth=0.9, label=None if seed else "the five seeds")
axis.plot(steps / 1e3, mean, color=ORANGE, linewidth=2.5, label="their mean")
axis.axvline(150, color=GREY, linestyle=":")
axis.set(xlabel="environment steps (thousands)", ylabel="mean return")
axis.set_title("The same code on Swimmer: five seeds, five different curves", fontsize=11)
axis.legend(loc="upper left")
plt.show()
last = swimmer[:, -10:].mean(axis=1)
print("mean return of the last ten updates, seed by seed:", *last.round().astype(int))

# %% [markdown]
# <small>Recorded with `recorded/training.py`, `--preset episodes`, discount 0.9999, on an AMD EPYC.</small>
#
# Now imagine two teams. Both train this same code on Swimmer for 150,000 steps (the dotted line), with two seeds each. Each team reports the mean
# return of the last ten updates before that. The better team announces its improvement, in per cent of the other team's mean. There are
# 15 ways to give two of our five seeds to each team (one seed is left over). For seeds with the results 100, 200, 150 and 250, for example,
# the teams {100, 200} and {150, 250} have the means 150 and 200, and the second team announces an improvement of 33 %.
#
# How large is the median "improvement" of our 15 comparisons?

# %% prediction="yes"
guess_improvement = 10  # per cent

# %%
half, end = swimmer[:, 20:30].mean(axis=1), swimmer[:, -10:].mean(axis=1)  # up to 150,000 and 300,000 steps
pairs = list(combinations(range(5), 2))
teams = [(a, b) for a, b in combinations(pairs, 2) if not set(a) & set(b)]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_luck():
    """Print and draw what two teams with the same code would announce."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 2.6), layout="constrained", sharex=True, sharey=True)
    for axis, when, runs in zip(axes, ("150,000", "300,000"), (half, end)):
        ratios = np.array([runs[list(a)].mean() / runs[list(b)].mean() for a, b in teams])
        percent = np.sort(100 * (np.maximum(ratios, 1 / ratios) - 1))
        if runs is half:
            compare("median 'improvement' of 15 comparisons", guess_improvement, np.median(percent), "%")
        print(f"after {when} steps: median {np.median(percent):.0f} %, largest {percent.max():.0f} %")
        axis.bar(range(1, 16), percent, color=BLUE)
        axis.axhline(np.median(percent), color=ORANGE, linestyle="--")
        axis.set(xlabel="comparison, sorted", title=f"after {when} steps")
    axes[0].set_ylabel("'improvement', per cent")
    plt.show()


reveal(guess_improvement, show_luck)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Both teams ran the same code, so every "improvement" is chance. The dashed line is the median. Henderson et al. (2018) split ten runs of TRPO
# into two groups of five, and the two mean curves look like two algorithms.
#
# </details>
#
# ## 2. An interval, and how often it is right
#
# A **95 % interval** of a mean is computed from the results in such a way that, if the whole experiment is repeated many times, 95 of 100
# intervals contain the true mean. The fraction that really contains it is the **coverage** of the method. A method that promises 95 %
# and covers 80 % claims too much.
#
# The **bootstrap** is a popular method. From five results it draws five, *with replacement*: from 1, 2, 3, 4, 5 it may draw 2, 2, 5, 1, 4. It
# takes their mean, here 2.8, and repeats this a thousand times. The middle 95 % of these means are the interval. What is the coverage for
# five normally distributed results?

# %% prediction="yes"
guess_coverage = 0.95  # fraction of experiments

# %%
worlds = np.random.default_rng(2).standard_normal((5, budget(1000, 300)))  # a column is an experiment; true mean 0
limits = bootstrap((worlds,), np.mean, method="percentile", n_resamples=1000, rng=np.random.default_rng(0))
low, high = limits.confidence_interval
covered = np.mean((low <= 0) & (high >= 0))
by_student = np.mean(np.abs(worlds.mean(axis=0)) <= half_interval(worlds))


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_coverage():
    """Print the coverage of both intervals; draw the bootstrap intervals of the first experiments."""
    compare("coverage of the bootstrap's '95 %' interval", guess_coverage, covered)
    print(f"coverage of Student's interval: {by_student:.2f}")
    print(
        f"Swimmer at 150,000 steps: {np.sort(half).round().astype(int)}, mean {mean_interval(half):.0f} (Student, 95 %)"
    )
    _, axis = plt.subplots(figsize=(8, 2.8), layout="constrained")
    for number in range(50):
        contains = low[number] <= 0 <= high[number]
        style = {"color": BLUE, "linewidth": 1.5} if contains else {"color": RED, "linewidth": 3}
        axis.plot([number, number], [low[number], high[number]], **style)
    missed = int(np.sum((low[:50] > 0) | (high[:50] < 0)))
    axis.axhline(0, color=GREY)
    axis.set(xlabel="experiment with five results", ylabel="bootstrap interval")
    axis.set_title(f"{missed} of 50 intervals (red, thick) miss the true mean 0; 2.5 are promised", fontsize=11)
    plt.show()


reveal(guess_coverage, show_coverage)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With five results the bootstrap interval is too narrow. It ignores that the spread itself is estimated from only five numbers, and it
# divides the sum of squares by 5 where 4 is unbiased.
#
# **Student's interval** corrects both. It is the mean $\pm\, t\, \sigma / \sqrt n$, where $\sigma$ divides by $n - 1$. The factor $t$ is 2.78 for
# $n = 5$; for many results it would be 1.96. **Welch's interval** is the same for the *difference* of two means whose spreads differ. If it contains
# 0, the course writes "no significant difference". This does not mean "equal": the interval says how large the difference may be, in
# either direction.
#
# </details>
#
# ## 3. A summary that one run cannot decide
#
# Returns are often not normally distributed. One seed of eight may fail completely, and the mean then depends on this one run. The
# median ignores it, but it uses only one or two of the numbers. The **interquartile mean** lies between them: sort the scores, leave out a
# quarter at each end, and take the mean of the rest.
#
# ### Exercise 1: `interquartile_mean` (★, 5 minutes)
#
# Eight runs have the scores 12, 100, 460, 470, 480, 490, 500, 500. A quarter of eight is two, so 12 and 100 are left out, and so are 500 and 500.
# The interquartile mean is (460 + 470 + 480 + 490) / 4 = 475. The mean is 376.5. With five scores a quarter is 1.25, which is rounded down to 1.

# %% exercise="interquartile_mean"

# %% [markdown]
# ### Exercise 2: `probability_of_improvement` (★★, 6 minutes)
#
# A difference of means depends on the unit of the returns. The **probability of improvement** does not. Draw one run of method A and one run of method B at
# random: how often does A have the higher score? Suppose A has the scores 3 and 1, and B has 2 and 0. There are four pairs. A wins
# 3 against 2, 3 against 0, and 1 against 0, and loses 1 against 2. So the probability of improvement is 3/4. A pair of
# equal scores counts one half. If it is 1/2, neither method has an advantage. It does not say how large an improvement is.

# %% exercise="probability_of_improvement"

# %% [markdown]
# ## 4. How likely is it by luck?
#
# All five runs of one method are better than all five runs of the other. How likely is a separation that clear, in one direction or the
# other, if the two methods do not differ? This probability is called the **p value**.
#
# Write the ten runs in a row, the lowest score first, and number the places from 1 to 10. (Statistics calls these numbers *ranks*; no processes
# are meant.) If the methods do not differ, every way to give five of the ten places to the first method is equally likely.
# There are $\binom{10}{5} = 252$ ways.

# %% prediction="yes"
guess_least = 0.05  # the p value of five against five, completely separated

# %% [markdown]
# ### Exercise 3: `rank_chance` (★★★, 10 minutes)
#
# Method A has the scores 1 and 2, method B has 3 and 4. The places of A are 1 and 2, and their sum is 3. There are six ways to choose two of the
# places 1, 2, 3, 4, with the sums 3, 4, 5, 5, 6 and 7. The mean of these sums is 5. The sum 3 is 2 away from it, and so is 7. No other sum is as far away. So the
# p value is 2/6 = 0.33. Two runs against two runs can never give a smaller one.

# %% exercise="rank_chance"

# %%
apart = mine.rank_chance(range(5), range(5, 10))
reveal(guess_least, lambda: compare("five against five, completely separated", guess_least, apart))

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Two of the 252 ways are as clear as this: all five lowest places, and all five highest. So $p = 2/252 = 0.008$. No test that uses only the order of
# five and five runs can give a smaller value. (A test that uses the sizes of the scores, such as Welch's, can. It
# assumes that the means are roughly normally distributed.)
#
# </details>
#
# ## 5. Many questions
#
# A table compares one method with thirteen others: thirteen questions. Suppose no two methods differ, and the questions are
# independent. Then at least one p value is below 0.05 with probability $1 - 0.95^{13} = 0.49$. If you ask often enough, chance gives you
# a "significant" result. Therefore p values are raised. Bonferroni's correction multiplies all of them by the number of questions $k$. **Holm's
# correction** is less strict and equally safe: it multiplies the smallest p value by $k$, the next one by $k - 1$, and so on.
#
# ### Exercise 4: `corrected` (★★, 8 minutes)
#
# Three questions have the p values 0.04, 0.01 and 0.03. In order of size they are 0.01, 0.03, 0.04, and their factors are 3, 2, 1. This gives 0.03, 0.06 and
# 0.04. The last one is smaller than the one before it, although its p value was larger. So it is raised to 0.06, too. In the order in which the
# questions came, the result is 0.06, 0.03, 0.06.

# %% exercise="corrected"

# %% [markdown]
# Five seeds each, thirteen questions, and one method that is completely separated from another: what is its corrected p value?

# %% prediction="yes"
guess_corrected = 0.05  # a probability


# %%
def smallest(seeds, questions):
    """Return the smallest corrected p value of a table in which one question has the clearest of all answers."""
    clearest = mine.rank_chance(range(seeds), range(seeds, 2 * seeds))
    return mine.corrected([clearest, *[1.0] * (questions - 1)])[0]


def show_corrected():
    """Answer the prediction; say what more seeds would allow."""
    compare("the smallest corrected p value, five seeds, 13 questions", guess_corrected, smallest(5, 13))
    print("with 6, 7 and 8 seeds:", *(f"{smallest(seeds, 13):.2g}" for seeds in (6, 7, 8)))


reveal(guess_corrected, show_corrected)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With five seeds, thirteen questions and this test, no difference is significant at 0.05, however large it is. Six seeds are enough. Count *before* you
# run: the count tells you how many seeds a comparison needs at least.
#
# </details>
#
# ## 6. Eight seeds of two algorithms
#
# Here are TRPO and the policy gradient of lecture 01 (`--algorithm policy-gradient`), with their default settings and eight seeds each, on three tasks.
# Each run has two results:
#
# - **training**: the mean return of the last fifth of the updates. In training the policy *samples* its actions.
# - **mean action**: the mean return of 20 fresh episodes in which the policy takes its most probable action, without learning.
#
# Which of the two results should a table show? They answer different questions, and they can differ a lot. Before you run the next cell, guess: on
# how many of the three tasks does a corrected p value show that TRPO is better, by the mean action?

# %% prediction="yes"
guess_proved = 3  # tasks, 0 to 3

# %%
eight = np.genfromtxt(recorded("05_eight.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
tasks = list(dict.fromkeys(eight["env"]))


def scores(task, algorithm, result="mean_action"):
    """Return the results of the eight seeds; NaN if no training episode ended in the last fifth of the updates."""
    return eight[result][(eight["env"] == task) & (eight["algorithm"] == algorithm)]


chances = mine.corrected([mine.rank_chance(scores(t, "trpo"), scores(t, "policy-gradient")) for t in tasks])


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_eight():
    """Print the table of the eight seeds, and draw both results of every run."""
    better = [np.mean(scores(t, "trpo")) > np.mean(scores(t, "policy-gradient")) for t in tasks]
    compare("tasks on which TRPO is better, corrected p < 0.05", guess_proved, int(np.sum((chances < 0.05) & better)))
    print(f"\n{'mean action, eight seeds':26}{'interquartile mean':>24}{'P(TRPO better)':>16}{'corrected p':>13}")
    for task, p in zip(tasks, chances):
        one, other = scores(task, "trpo"), scores(task, "policy-gradient")
        middles = f"{mine.interquartile_mean(one):.4g} and {mine.interquartile_mean(other):.4g}"
        print(f"{task:26}{middles:>24}{mine.probability_of_improvement(one, other):16.2f}{p:13.2g}")
    print("\ndifference of the means, TRPO minus policy gradient (Welch):")
    for task in tasks:
        print(f"{task:26}{difference_in_words(scores(task, 'trpo'), scores(task, 'policy-gradient'))}")
    _, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained")
    for axis, task in zip(axes, tasks):
        for place, (algorithm, color) in enumerate((("trpo", BLUE), ("policy-gradient", ORANGE))):
            for side, (result, marker) in enumerate((("training", "s"), ("mean_action", "o"))):
                values = scores(task, algorithm, result)
                x = 2 * place + side + np.linspace(-0.25, 0.25, len(values))
                face = color if side else "white"
                axis.plot(x, values, marker, color=color, markerfacecolor=face, markersize=5)
        axis.set_xticks(range(4), ["train", "mean\naction"] * 2, fontsize=8)
        axis.axvline(1.5, color=GREY, linewidth=1)
        axis.set_xlabel("TRPO     |     policy gradient")
        axis.set_title(task, fontsize=11)
    axes[0].set_ylabel("mean return")
    plt.suptitle("The return in training (open) and that of the mean action (full) differ", fontsize=11)
    plt.show()
    empty = np.isnan(eight["training"]).sum()
    print(f"{empty} of {len(eight)} runs have no training return: no episode ended in the last fifth of their updates")
    gap = np.nan_to_num(eight["training"] - eight["mean_action"])
    k = int(np.argmax(gap))
    run = f"{eight['algorithm'][k]}, {eight['env'][k]}, seed {eight['seed'][k]}"
    print(
        f"largest loss: {run}: {eight['training'][k]:.4g} in training, {eight['mean_action'][k]:.4g} by its mean action"
    )


reveal(guess_proved, show_eight)

# %% [markdown]
# <small>Recorded with `recorded/training.py 05_eight`: seeds 0 to 7, 15,000 steps of CartPole, 20,000 of InvertedPendulum, 50,000 of Reacher, on
# an AMD EPYC.</small>
#
# <details><summary>After your guess: what it means</summary>
#
# On Reacher every run of TRPO is better than every run of the policy gradient, so the p value is the smallest possible one for eight and eight
# seeds. With five seeds and these three questions it would also have been significant ($3 \cdot 0.008 = 0.024$), with four it would not ($3 \cdot 0.029 = 0.09$).
#
# On CartPole nearly all runs of both methods reach 500, the maximum. The task is too easy to separate them at this moment. The table does not show that the
# methods are equal.
#
# InvertedPendulum shows why three summaries stand side by side. Seven of eight runs of TRPO have the maximum of 1,000, and one has 7.85. This one run widens
# Welch's interval, and the interquartile mean ignores it. It is still a fact about TRPO: a run can fail.
#
# The same run had a return of 432 *in training*. There are two explanations, and the table cannot separate them: the noise of its actions may have helped to keep
# the pole up, or the last updates of the run may have made the policy worse. The opposite difference is more frequent. On Reacher the random torques of the policy gradient cost most of its return, and its mean action is much better. A table therefore
# has to say which of the two it shows. Returns in training say how well the algorithm learns while it explores; the mean action says how good the robot is that you would
# use afterwards. The mean return in training also has a gap: it counts only episodes that have ended.
#
# </details>
#
# ## 7. A default is a claim about all tasks
#
# Seeds repeat the same task. A default setting is used on tasks that its author has never seen, so it claims: *this works on the next task,
# too*. More seeds do not test this claim, because they repeat the tasks on which the setting was tuned. A test of a default has these parts:
#
# 1. **Tasks that were never tuned.** Half of them are for *choosing* between candidates. Half are *held out*: they are run once, at the
#    end, with the one candidate that was chosen. A second try on the held-out half would be choosing again.
# 2. **Normalised scores.** Returns of different tasks have different units. A score of 0 is the return of the random policy, and 1 is the best return
#    that any run reached.
# 3. **The interquartile mean** of all scores, and **the probability of improvement** on the same task, averaged over tasks.
# 4. **Intervals over tasks and seeds.** Draw tasks with replacement, and for each of them its seeds with replacement, thousands of times. The
#    interval is then about *another task*, and it is wider.
# 5. **Holm's correction**, if the default is compared with several others.
#
# The measured numbers of this project are on the page `docs/speed.md`.
#
# ## Bug hunt
#
# Somebody wrote this Holm correction. No p value falls, and all values in the result are right numbers. `hunt` shows a case. Find the line, correct it, and
# run the cell again.


# %%
def suspect(pvalues: Sequence[float]) -> Array:
    given = np.array(pvalues, dtype=float)
    smallest_first = np.argsort(given)
    factors = len(given) - np.arange(len(given))
    holm = np.maximum.accumulate(given[smallest_first] * factors)
    return np.clip(holm, 0.0, 1.0)[smallest_first]


_ = hunt("corrected", suspect)

# %% [markdown] solution="only"
# **The bug**: the last `[smallest_first]`. `holm[i]` belongs to question `smallest_first[i]`, so it must be *put* there. The code
# *takes* from there. Both agree for any order that undoes itself, so a test with two questions cannot find the bug. With more
# questions the right p values are given to the wrong methods. `[np.argsort(smallest_first)]` would be right.

# %% [markdown]
# ## Quiz
#
# **1.** Five seeds of method A and five of B: the means differ by 20 %, and the 95 % intervals overlap a little. Is A better?
#
# <details><summary>Answer</summary>
#
# You do not know yet. Overlapping intervals do not show that the methods are equal. Compute Welch's interval of the *difference*, or run more
# seeds, of a number that you fix *before* looking. Tempting: "twenty per cent is a lot". Half of your 15 comparisons of a method with itself had more.
#
# </details>
#
# **2.** "Our method is better: p = 0.008, five seeds against five." The appendix says that it was compared with 12 others. What do you say?
#
# <details><summary>Answer</summary>
#
# 0.008 is the smallest value that a rank test of five against five can give. After 12 questions it is 0.095 at best. The difference may be real, but this
# table does not show it. Six seeds could have shown it: $12 \cdot 2 / \binom{12}{6} = 0.026$.
#
# </details>
#
# **3.** A colleague runs seeds until the p value is below 0.05, and then stops. What is wrong?
#
# <details><summary>Answer</summary>
#
# Each look at the p value is another chance to be lucky. If one looks often enough, a p value below 0.05 appears with a probability far above 0.05, even if
# the methods are the same. Fix the number of seeds first. Tempting: "more seeds are always better". They are, if their number does not depend on the results.
#
# </details>
#
# ## Summary
#
# Learn these seven points by heart.
#
# - One seed supports no claim. The same code can "improve" by tens of per cent.
# - Use Student's interval for the mean of a few seeds, and Welch's for a difference. The bootstrap of five results is too narrow.
# - The interquartile mean is the mean of the middle half. One failed run cannot decide it.
# - The probability of improvement is the fraction of pairs of runs that a method wins.
# - The number of seeds limits the p value of a rank test: five against five cannot go below 0.008.
# - Many questions need a correction. Count and fix the seeds before you run.
# - Say whether a return is that of training or that of the mean action, and after how many steps.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# 1. Plot the smallest corrected p value against the number of seeds (4 to 10), for 1, 13 and 50 questions. Explain how many seeds
#    you would run for a table of 50 methods, and why you decide it beforehand.
# 2. Draw 20 seeds for each of two methods from normal distributions with the same mean. Keep the best five of each method, and plot the
#    histogram of `rank_chance` over 1,000 repetitions, once with equal and once with different standard deviations. Explain
#    what selection does to a p value.
#
# ## Read on
#
# - P. Henderson et al., *Deep reinforcement learning that matters*, AAAI 2018: two groups of seeds of one algorithm that look like two algorithms.
# - R. Agarwal et al., *Deep reinforcement learning at the edge of the statistical precipice*, NeurIPS 2021: the interquartile mean, the probability of
#   improvement, and intervals for a few seeds on many tasks.
# - C. Colas, O. Sigaud & P.-Y. Oudeyer, *How many random seeds?*, 2018: how the number of seeds decides which difference can be found.
#
# **Next**: TRPO learns, and you can show it. Lecture 06 asks where its time goes.
