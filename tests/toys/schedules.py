"""A user's algorithm with a schedule that ends with the run."""

from dataclasses import dataclass

from minitrpo.algorithms import Algorithm, Plan, Purpose, option


@dataclass(frozen=True)
class Settings:
    step_size: float = option(0.1, "how far", above=0)


class Falls(Algorithm):
    Settings, columns = Settings, ("step",)

    def __init__(self, settings, context):
        self.settings, self.left, self.steps = settings, context.schedule(), 0
        self.theta = context.policy.initialise(context.generator(Purpose.POLICY))

    def plan(self):
        return Plan(self.theta)

    def prepare(self, plan, fragment):
        return {"rewards": fragment.rewards}

    def learn(self, batch, rng):
        step = self.settings.step_size * self.left(self.steps)
        self.steps += len(batch["rewards"])
        self.theta = self.theta + step
        return {"step": step}

    def state(self):
        return {"theta": self.theta, "steps": [self.steps]}

    def restore(self, arrays):
        self.theta, self.steps = arrays["theta"], int(arrays["steps"][0])
