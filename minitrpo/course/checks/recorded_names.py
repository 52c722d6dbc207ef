"""What the functions of the exercises called their parameters and variables when the rows of mistakes were written.

In the order of `mistakes.local_names`. A function that calls them otherwise now is read as if it did not; one that has
more or fewer of them needs new words here, and its rows another look.
"""

RECORDED = {
    "minitrpo.course.tools:degrees": "radians",
    "minitrpo.course.tools:weighted_sum": "rows weights column",
    "minitrpo.course.tools:play_episode": "env policy seed rewards terminated truncated observation _ reward",
    "minitrpo.course.tools:loss_and_slope": "w x y u v loss slope_v slope_u",
    "minitrpo.course.tools:finite_difference": "f theta h gradient k move",
    "minitrpo.policies:gaussian_log_prob": "mean log_std actions z",
    "minitrpo.policy_gradient:score": "policy theta observation action log_prob",
    "minitrpo.returns:discounted_sums": "x discount last backwards total value is_last",
    "minitrpo.policy_gradient:policy_gradient": (
        "policy theta observations actions advantages weighted_log_prob dist_params"
    ),
    "minitrpo.policies:gaussian_kl": "old_mean old_log_std mean log_std apart square",
    "minitrpo.policies:categorical_kl": "old_logits logits old_log log",
    "minitrpo.natural_gradient:fisher_vector_product": "policy theta observations damping old summed new v",
    "minitrpo.conjugate_gradient:energy": "product b x",
    "minitrpo.conjugate_gradient:conjugate_gradient": (
        "product b iterations tolerance x residual direction squared stop _ a_direction curvature alpha new_squared"
    ),
    "minitrpo.policy_gradient:surrogate": "policy dist_params old_log_prob actions advantages",
    "minitrpo.line_search:step_scale": "max_kl xAx",
    "minitrpo.line_search:backtracking": (
        "evaluate theta full_step expected_gain max_kl shrink max_trials reason ratio trials fraction candidate gain kl"
    ),
    "minitrpo.returns:next_values": "values final_values last terminated after",
    "minitrpo.returns:gae": "rewards values next_values last discount gae_lambda errors advantages",
    "minitrpo.returns:explained_variance": "predicted targets variance",
    "minitrpo.trpo:trpo_step": (
        "policy theta batch max_kl cg_iterations cg_damping fisher_fraction g product x residual full_step "
        "evaluate entropy search"
    ),
    "minitrpo.parallel.timing:timed": "record name clock start",
    "minitrpo.course.trace:seconds_per_phase": "spans own apart name start duration",
    "minitrpo.course.trace:busy_fraction": "spans names begin end wanted name start duration busy reached stop",
    "minitrpo.parallel.episode_pool:play_requests": "counter requests play played number",
    "minitrpo.parallel.episode_pool:gather_in_order": "comm played parts pairs part pair",
    "minitrpo.training.gather:in_order": "numbers starts",
    "minitrpo.course.speedup.statistics:amdahl": "serial_fraction ranks",
    "minitrpo.course.speedup.statistics:karp_flatt": "speedup ranks",
    "minitrpo.course.speedup.statistics:interval": "samples confidence resamples seed measured draws medians low high",
    "minitrpo.adaptive:improved": "recent before margin",
    "minitrpo.adaptive:turn": "steps kl better config sign",
    "minitrpo.adaptive:adapt": "state mean_return config returns recent decision better steps kl threshold",
    "minitrpo.noise:measure_noise": (
        "policy theta batch g step iterations damping fraction rows signs d product noise curvature"
    ),
    "minitrpo.algorithms.parallel_policy_gradient:pooled_gradient": "sums about u v n total",
    "minitrpo.course.parallel_sgd.problem:delayed_descent": "rate delay updates x _",
    "minitrpo.course.parallel_sgd.problem:stability_bound": "delay phi",
    "minitrpo.parallel.parameter_server:may_go_on": "clocks worker max_lead",
    "minitrpo.algorithms.actor_critic:bootstrapped_returns": "rewards final_values last terminated discount",
    "minitrpo.algorithms.actor_critic:loss_gradient": "at value returns settings s n advantages ascent descent",
    "minitrpo.algorithms.asynchronous_algorithm:descend": (
        "shared gradient optimiser step_size prefix own name array after step"
    ),
    "minitrpo.algorithms.q_learning:sarsa_targets": "rewards terminated next_q next_actions discount taken",
    "minitrpo.algorithms.q_learning:n_step_q_targets": "rewards last terminated final_q discount",
    "minitrpo.algorithms.batch_ppo:clipped_objective": "ratio advantages clip",
    "minitrpo.algorithms.batch_ppo:objective_slope": "ratio advantages clip slope",
    "minitrpo.course.climb:climb": (
        "policy theta memory batch clip rng epochs size step_size observations actions advantages "
        "old_log_prob _ order rows now ratio gradient step"
    ),
    "minitrpo.course.continuous:cuts": "ended stops simulators last first",
    "minitrpo.experience.replay_buffer:updates_due": "steps warm_up ratio done owed",
    "minitrpo.algorithms.off_policy.gorila:judged": (
        "statistics loss deviations memory trial count mean variance largest taken rate apart new"
    ),
    "minitrpo.algorithms.off_policy.naf:naf_q": "value mu lower u z",
    "minitrpo.algorithms.off_policy.naf:naf_targets": "rewards discounts terminated next_value reward_scale",
    "minitrpo.algorithms.guided_policy_search.lqr:step_back": "C c F f V v n H h inverse K k",
    "minitrpo.algorithms.guided_policy_search.local_models:gaussians": "Y alive strength count mean squares pooled",
    "minitrpo.algorithms.guided_policy_search.lqr:with_kl": "cost pbar eta T m _ G GP",
    "minitrpo.algorithms.guided_policy_search.imitation:imitated_std": "P",
    "minitrpo.course.scaling.heart:makespan": "lengths ranks draw free counter length now",
    "minitrpo.course.scaling.formulas:finite_source": "customers think service queue rate count here",
    "minitrpo.course.scaling.formulas:updates_needed": "batch reference updates noise_scale",
    "minitrpo.course.seeds:rank_chance": "one other ranks sums some apart ours",
    "minitrpo.course.seeds:corrected": "chances p order raised found",
}
