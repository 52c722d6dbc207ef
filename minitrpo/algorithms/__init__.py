"""The family: one module a member, its formulas first and then its class. What a class of your own needs is here."""

from minitrpo.algorithms.algorithm import Algorithm as Algorithm
from minitrpo.algorithms.algorithm import Context as Context
from minitrpo.algorithms.algorithm import Plan as Plan
from minitrpo.algorithms.algorithm import Preset as Preset
from minitrpo.algorithms.asynchronous_algorithm import AsynchronousAlgorithm as AsynchronousAlgorithm
from minitrpo.algorithms.asynchronous_algorithm import AsynchronousSettings as AsynchronousSettings
from minitrpo.algorithms.options import option as option
from minitrpo.experience.randomness import EpisodeKey as EpisodeKey
from minitrpo.experience.randomness import Purpose as Purpose
from minitrpo.experience.rollouts import Fragments as Fragments
from minitrpo.policies import Acting as Acting
