"""A policy that remembers: what it did is computed once more from the states that its fragments begin with."""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms import Acting, Algorithm, Plan, Purpose, option

UNITS = 4


@dataclass(frozen=True)
class Settings:
    pace: float = option(0.3, "how far theta moves", above=0)


class Elman(Acting):
    """h <- tanh(x W + h U), and the best of h V: the action depends on all observations of the episode."""

    discrete, state_size = True, UNITS

    def __init__(self, policy):
        self.shapes = ((policy.observation_size, UNITS), (UNITS, UNITS), (UNITS, policy.sizes[-1][1]))

    def initialise(self, rng):
        return rng.standard_normal(sum(a * b for a, b in self.shapes))

    def initial_state(self, theta, key):
        return theta[:UNITS] * key.once().standard_normal(UNITS)

    def matrices(self, theta):
        stops = np.cumsum([a * b for a, b in self.shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(theta, stops), self.shapes, strict=True)]

    def act_function(self, theta, state):
        w, u, v = self.matrices(theta)

        def act(observations, noise, used):
            state[:] = np.tanh(observations @ w + state @ u)
            return np.argmax(state @ v, axis=1)

        return act

    def distribution(self, theta, observations):
        return observations @ self.matrices(theta)[0] @ self.matrices(theta)[2]


class Remembers(Algorithm):
    """Moves at random, by how well it went; counts the actions that do not follow from the states it was given."""

    Settings, columns = Settings, ("wrong", "went_on", "moved")
    make_policy = staticmethod(lambda settings, policy: Elman(policy))

    def __init__(self, settings, context):
        self.settings, self.policy = settings, context.policy
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))

    def plan(self):
        return Plan(self.theta)

    def prepare(self, plan, fragment):
        state = fragment.policy_states.copy()
        act = self.policy.act_function(plan.theta, state)
        again = [act(x[None], None, 1)[0] for x in fragment.observations]
        wrong = np.count_nonzero(np.array(again) != fragment.actions)
        return {"counts": np.array([[wrong, fragment.starts[0] > 0]], float), "states": fragment.policy_states}

    def learn(self, batch, rng):
        step = self.settings.pace * rng.standard_normal(len(self.theta)) * (1 + np.abs(batch["states"]).mean())
        self.theta = self.theta + step
        wrong, went_on = batch["counts"].sum(axis=0).tolist()
        return {"wrong": wrong, "went_on": went_on, "moved": float(np.linalg.norm(step))}

    def state(self):
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]
