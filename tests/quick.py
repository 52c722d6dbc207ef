"""Which tests `make test` runs: every promise once. What is left out here, `make test-all` and `.ci/run` run, too.

EVERY: of a function's cases the quick set has every n-th. LEFT_OUT: functions that it leaves out whole, since another
test of the quick set holds the same promise with less work. SELDOM: of the cases that the quick set leaves out,
continuous integration runs every n-th, as they are many of one kind; the others are thorough.
"""

EVERY = {
    # exercises: wrong answers, mistakes that have words of their own, right answers
    "test_a_wrong_answer_is_refused_with_its_symptom": 30,
    "test_a_known_mistake_is_told_its_own_symptom": 24,
    "test_another_right_answer_passes": 6,
    "test_right_bootstraps_on_other_streams_pass": 10,
    "test_an_answer_of_ones_own_is_never_taken_for_the_packages": 40,
    "test_an_answer_that_is_not_the_students_has_no_point": 14,
    "test_a_cell_that_does_not_run_is_named_and_the_rest_is_graded": 7,
    "test_a_cell_that_changes_the_checks_is_named_and_left_out": 6,
    "test_the_solution_passes": 18,
    # what a user's environment, file, command line or class may be
    "test_one_message_and_an_end": 12,
    "test_what_the_process_itself_cannot_tell": 6,
    "test_a_run_that_was_damaged": 8,
    "test_a_run_of_segments_with_a_perceptron_that_was_damaged": 8,
    "test_another_command_line_that_makes_no_sense": 4,
    "test_bad_input_on_two_ranks": 9,
    "test_bad_input_is_refused_in_one_line": 6,
    "test_bad_input_is_one_line_and_exit_code_2": 5,
    "test_bad_input_is_one_line_before_any_work": 4,
    "test_what_makes_no_sense_is_a_value_error": 4,
    "test_what_goes_wrong_later_is_named": 12,
    "test_what_is_no_algorithm_is_refused_in_one_line": 8,
    "test_bad_requests_are_refused_before_any_work": 4,
    "test_what_an_asynchronous_algorithm_spoils_later_is_named": 14,
    "test_a_run_ends_with_how_large_the_numbers_were": 4,
    # ends
    "test_what_would_hang_at_the_end": 6,
    "test_streams_that_are_closed_from_the_start": 4,
    "test_a_terminal_that_knows_ascii_alone": 4,
    "test_ctrl_c_while_it_loads": 3,
    "test_the_job_ends_and_names_the_episode": 6,
    "test_a_failure_later_than_the_checkpoint_is_played_again": 6,
    "test_an_episode_played_again_is_the_same_from_any_checkpoint": 3,
    "test_whatever_happens_in_a_segment_is_reported_with_its_iteration": 4,
    "test_a_failing_environment_ends_the_job_with_one_message": 6,
    "test_a_run_that_is_told_to_end_saves_and_goes_on_to_the_bit": 5,
    "test_all_ranks_of_a_job_end_alike": 2,
    "test_a_disk_that_is_full_ends_the_job_with_one_line_and_nothing_is_lost": 2,
    "test_a_setting_that_nothing_listens_to_is_said": 2,
    "test_a_setting_that_does_nothing_is_said": 4,
    "test_what_waits_for_more_than_the_run_has_is_said": 3,
    "test_a_bar_on_a_terminal_alone_and_under_mpiexec": 4,
    # bits on any number of ranks, and across an interruption
    "test_any_number_of_ranks_gives_the_same_bits": 8,
    "test_a_shorter_run_resumed_on_other_ranks_equals_the_whole": 2,
    "test_the_same_bits_on_any_number_of_ranks_and_across_a_resume": 4,
    "test_a_barrier_gives_the_same_bits_on_any_ranks_and_across_a_resume": 6,
    "test_the_sharded_learner_has_the_bits_of_the_root": 4,
    "test_it_has_the_same_bits_on_any_ranks_across_a_resume_and_changes_nothing": 7,
    "test_without_a_barrier_too": 3,
    "test_a_failure_is_named_as_one_of_an_evaluation": 3,
    "test_who_learns_what_with_the_sharded_learner": 2,
    "test_events_with_learners_give_the_same_bits_on_any_ranks_and_across_a_resume": 2,
    "test_ranks_with_roles_end_together_and_count_everything": 6,
    "test_a_command_of_a_page_works": 20,
    "test_every_field_of_what_ranks_share_is_the_same_on_all_of_them": 4,
    "test_a_broken_promise_is_named": 3,
    "test_one_system_says_what_its_updates_took": 4,
    "test_bits_equal_gymnasium_from_wild_states": 3,
    "test_the_command_compares_all_modes": 3,
    "test_shared_and_sharded_replay_have_the_same_bits_on_any_number_of_ranks": 8,
    "test_events_give_the_same_bits_on_any_ranks_and_across_a_resume": 2,
    "test_real_transports_count_every_gradient_and_go_on_after_an_end": 4,
    "test_old_gradients_are_refused_and_counted": 3,
    "test_an_asynchronous_run_counts_on": 2,
    "test_real_ranks_have_the_bits_of_one_process": 3,
    "test_real_ranks_apply_or_refuse_every_gradient": 2,
    "test_every_gradient_is_applied_or_refused_and_counted": 2,
    # the claims of the sources
    "test_every_question_names_arms_that_are_there_and_the_full_set_answers_all": 7,
    "test_a_picture_shows_what_is_recorded_and_nothing_else_lies_there": 4,
    # two of a kind
    "test_the_folder_one_is_in_comes_last": 2,
    "test_who_has_a_helper_at_work_is_not_checked": 2,
    "test_every_command_says_that_it_was_left": 3,
    "test_nobody_reads_a_row_that_it_was_not_given": 2,
    "test_too_little_shared_memory_is_named": 3,
    "test_a_log_that_is_none_is_named_in_a_line": 4,
    "test_a_timed_run_gives_steps_and_seconds_of_every_update": 2,
    "test_a_rank_that_is_killed_while_it_learns_is_reported": 2,
    "test_a_rank_that_leaves_fails_the_job": 2,
    "test_a_fork_that_comes_back_is_ended_and_the_run_goes_on": 2,
    "test_an_environment_may_be_a_class_or_what_makes_one": 3,
    # learning
    "test_returns_rise": 4,
    "test_it_learns": 3,
}
LEFT_OUT = {
    "test_library": (
        "test_under_mpiexec_all_ranks_share_the_work_and_get_the_same_numbers",
        "test_what_no_other_process_can_import_is_handed_over_again",
        "test_a_failure_of_one_rank_ends_all",
        "test_an_importable_class_is_found_by_the_commands",
    ),
    "test_statistics": ("test_the_rank_test_raises_no_more_false_alarms_than_it_may",),
    "test_evaluation": ("test_the_command_says_the_same_on_any_ranks", "test_without_a_barrier_too"),
    "test_leaving": (
        "test_options_of_train_may_follow_those_of_check",
        "test_a_hang_in_what_check_looks_at_first_is_told",
        "test_a_crash_is_told_although_another_was_a_moment_before",
    ),
    "test_scaling_predictions": ("test_the_parts_of_an_update_are_measured",),
    "test_schedules": ("test_a2c_learns_to_the_end_of_a_longer_run",),
    "test_own_examples": ("test_the_same_bits_on_any_number_of_ranks_and_across_a_resume",),
    "test_compare": (
        "test_each_seed_has_the_run_that_it_would_have_alone",
        "test_new_writes_the_example_that_the_course_shows",
        "test_a_config_names_its_algorithm",
    ),
    "test_first_update": ("test_a_first_update_has_the_steps_that_are_wanted_with_the_same_bits_on_any_ranks",),
    "test_actor_critic": ("test_gradients_lead_where_samples_do_up_to_rounding",),
    "test_first_states": ("test_the_same_bits_on_any_number_of_ranks_and_across_a_resume",),
    "test_guided_policy_search": (
        "test_the_same_bits_on_any_number_of_ranks_whoever_owns_a_condition",
        "test_a_run_stops_before_it_goes_beyond_its_steps_and_equals_the_whole_when_resumed_on_other_ranks",
        "test_within_2_percent_of_riccati",
        "test_it_works_from_first_states_that_it_has_not_trained_on",
    ),
    "test_naf": ("test_the_same_bits_on_any_number_of_ranks_and_across_a_resume",),
    "test_batch_ppo": ("test_the_same_bits_on_any_ranks_and_across_a_resume", "test_it_learns"),
    "test_gorila": (
        "test_what_is_refused_is_counted",
        "test_the_same_bits_on_any_ranks_and_across_a_resume_with_everybodys_buffer",
    ),
    "test_hosts": (
        "test_two_hosts_have_the_bits_of_one_process",
        "test_workers_on_two_hosts_find_out_that_they_share_no_memory",
    ),
    "test_wheel": (
        "test_the_package_is_the_wheels_own",
        "test_it_brings_its_types_its_command_and_an_example",
        "test_a_notebook_finds_its_commands_without_a_checkout",
        "test_it_trains_watches_and_resumes_from_an_empty_folder",
    ),
    "test_grading": (
        "test_a_cell_that_hangs_is_ended_and_nothing_is_left_behind",
        "test_files_that_are_not_the_submissions_are_put_back",
        "test_check_cells_that_were_deleted_or_edited_are_named_and_change_no_point",  # the table has such
        "test_a_function_that_changes_the_checks_while_it_is_checked",
        "test_a_thread_and_a_process_that_have_ended_are_no_helpers",
        "test_the_packages_source_word_for_word_is_named",
    ),
    "test_speedup": ("test_the_script_leaves_a_table_a_csv_a_json_and_a_picture", "test_weak_scaling_grows_the_job"),
    "test_noise": ("test_the_same_bits_on_any_ranks_and_across_a_resume",),
    "test_notebooks": ("test_a_notebook_that_a_student_has_changed_is_kept",),
    "test_own_algorithm": (
        "test_products_of_matrices_in_a_digest_do_not_depend_on_the_ranks",
        "test_the_same_bits_on_any_number_of_ranks_and_across_a_resume",  # test_own_examples
        "test_it_has_a_help_of_its_own_columns_a_picture_and_a_video",
        "test_gradients_and_samples_take_the_same_first_step",
        "test_a_killed_run_goes_on_to_the_same_bits",
        "test_it_learns",
    ),
    "test_asynchronous": (
        "test_a_killed_run_goes_on",
        "test_one_rank_needs_no_server",
        "test_a_users_own_with_a_state",
    ),
    "test_q_learning": ("test_the_same_bits_on_any_number_of_ranks_and_across_a_resume",),
    "test_stopping": (
        "test_an_asynchronous_run_counts_on",
        "test_what_comes_between_the_runs_of_two_seeds_is_not_forgotten",
    ),
    "test_run_folder": ("test_idle_ranks_are_mentioned",),
    "test_invariance": (
        "test_neither_the_number_of_slots_nor_the_physics_change_a_bit",
        "test_a_run_killed_between_two_checkpoints_resumes_to_the_same_bits",
        "test_ranks_without_a_core_leave_the_work_to_the_others",
        "test_resuming_a_finished_run_changes_nothing",
        "test_who_learns_what_with_the_sharded_learner",
        "test_where_a_meeting_takes_longer_than_the_steps_one_rank_works_alone_unless_told_otherwise",
    ),
    "test_benchmarks": ("test_a_picture_is_drawn_for_every_benchmark",),
    "test_overlap": (
        "test_the_trace_shows_that_ranks_collect_while_the_critic_is_fitted",
        "test_the_bits_are_those_of_a_run_that_waits_for_the_fit",
        "test_a_run_killed_in_the_middle_of_a_fit_resumes_to_the_same_bits",
        "test_a_row_of_several_updates_is_their_mean_and_resumes_exactly",
    ),
    "test_off_policy": (
        "test_a_run_goes_on_with_its_buffer_whoever_holds_it",
        "test_the_papers_preset_makes_an_update_every_four_steps_and_has_the_same_bits_on_any_ranks",
    ),
    "test_reliability": (
        "test_a_run_without_its_first_checkpoint_begins_again",
        "test_a_render_that_does_not_return_is_ended",
        "test_a_replay_that_hangs_as_the_episode_did_is_ended",
        "test_a_folder_in_which_a_run_is_at_work_is_refused",
    ),
    "test_parallel_sgd": ("test_bad_input_is_one_line",),
    "test_learning": ("test_the_paper_preset_learns",),
    "test_gradient_pooling": ("test_it_learns", "test_the_same_bits_on_any_ranks_whatever_travels_and_across_a_resume"),
}


SELDOM = {
    "test_the_students_notebook_fails_at_its_checks_as_not_attempted": 6,
    "test_run_all_by_a_student_gives_no_answer_away": 6,
    "test_the_solution_passes": 4,
    "test_a_wrong_answer_is_refused_with_its_symptom": 4,
    "test_a_known_mistake_is_told_its_own_symptom": 3,
    "test_an_answer_of_ones_own_is_never_taken_for_the_packages": 4,
    "test_one_message_and_an_end": 2,
    "test_a_setting_that_does_nothing_is_said": 4,
}


def leave_out(items, slow, thorough):
    """Mark with `slow` what the quick set leaves out; of a function's cases it keeps the first of every n.

    thorough: marks, of these, what continuous integration leaves out, too.
    """
    seen, left = {}, {}
    for item in items:
        name, file = item.originalname, item.path.stem
        number = seen[file, name] = seen.get((file, name), -1) + 1
        if name in LEFT_OUT.get(file, ()) or number % EVERY.get(name, 1):
            item.add_marker(slow)
        if item.get_closest_marker("slow"):
            number = left[file, name] = left.get((file, name), -1) + 1
            if number % SELDOM.get(name, 1):
                item.add_marker(thorough)
