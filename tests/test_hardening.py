"""What broke under hostile testing of earlier versions, and the test of each.

What the version before did, as was told then or seen again by the smallest case, stands beside the tests that fail on it.
"""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# the fault, what the version before did, the tests
BROKE = [
    ("brackets in a path are a pattern", "`check 'preds[1].csv'` passed on the 5,000 rows of preds1.csv",
     "reading/test_discovery.py::test_a_name_that_exists_is_no_pattern"),
    ("a quote inside an unquoted field", "2 of 5 rows were judged, exit 0",
     "reading/test_csv_corpus.py::test_no_row_is_lost reading/test_csv_fuzz.py::test_random_files_are_read_as_others_read_them_or_refused"),
    ("a baseline joined by totals", '"0.00 % to 0.00 %", pass, with half of its rows twice and half missing',
     "gate/test_check.py::test_a_baseline_that_has_some_rows_twice_and_others_not_is_refused"),
    ("`max_worse` ignores `min_rows`", "pass with 8 of 4,000 rows compared, and --min-rows 1000",
     "gate/test_check.py::test_rows_that_the_baseline_lacks_count_for_min_rows_and_are_told"),
    ("`compare` discards the count of dropped rows", "it was not to be had",
     "reading/test_row_counts.py::test_rows_of_pairs_are_counted"),
    ("the last of repeated options wins", "--rules strict.toml --rules lax.toml passed at 71 %",
     "cli/test_mistakes.py::test_a_value_that_may_be_given_once_is_not_given_twice"),
    ("a segment whose rows are all dropped", "country=* passed without country=it",
     "gate/test_check.py::test_a_segment_whose_rows_were_all_dropped_is_not_passed_over"),
    ("an unreadable subfolder is skipped", "an error about pyvenv.cfg in the version that could still be built; skipped before",
     "reading/test_discovery.py::test_a_folder_that_cannot_be_listed_is_an_error"),
    ("linked subfolders", "3,000 of 6,000 rows were read", "reading/test_discovery.py::test_linked_folders_are_read"),
    ("a folder's name overrides a column", "100 % positive", "reading/test_discovery.py::test_a_folder_may_not_contradict_its_files"),
    ("one row passes every limit", "pass on 1 row",
     "gate/test_check.py::test_limits_that_no_value_breaks_do_not_pass_without_evidence"),
    ("NaN labels are negatives with `pos_label`", "3 observations, 1 positive",
     "reading/test_names_and_values.py::test_a_value_means_the_same_everywhere "
     "reading/test_files.py::test_a_label_of_nan_is_missing_and_not_negative"),
    ("a file named twice counts twice", "10,000 of 5,000 rows", "reading/test_discovery.py::test_a_file_named_twice_is_refused"),
    ("rows are lost between reading and judging", "no account by file, segment, window or pair",
     "reading/test_row_counts.py::test_every_file_has_its_row_counts reading/test_discovery.py::test_a_row_that_does_not_arrive_is_an_error "
     "reading/test_row_counts.py::test_a_row_that_is_lost_on_its_way_is_an_error "
     "reading/test_row_counts.py::test_a_join_that_loses_or_doubles_rows_is_an_error "
     "reading/test_row_counts.py::test_a_row_that_is_lost_while_tallies_are_added_or_regrouped_is_an_error"),
    ("a full temporary folder loses rows", "`ndarray.tofile` hid it", "reading/test_accumulate.py::test_a_full_disk_loses_no_row"),
    ("an output onto an input", "the data became a summary, exit 0",
     "cli/test_terminal.py::test_an_output_never_takes_the_place_of_an_input"),
    ("files of killed processes stay", "up to 232 MB", "reading/test_accumulate.py::test_a_killed_process_leaves_no_file "
     "reading/test_files.py::test_copies_of_a_killed_process_are_removed_when_the_next_copy_is_made "
     "test_atomic.py::test_a_killed_process_leaves_the_old_file_whole_and_the_next_writer_removes_its_draft"),
    ("a binning or test of one's own", "segmentation fault",
     "metrics/test_borders.py::test_a_wrong_partition_is_refused metrics/test_borders.py::test_wrong_cuts_are_refused "
     "metrics/test_borders.py::test_the_kernel_stays_within_its_arrays"),
    ("arrays that change during a call", "segmentation fault, or the C library's \"corrupted top size\"",
     "metrics/test_races.py::test_no_call_dies_of_arrays_that_change "
     "metrics/test_races.py::test_values_that_were_refused_and_are_valid_now_have_changed"),
    ("a named pipe as input", "waited for ever", "reading/test_discovery.py::test_a_named_pipe_and_a_device_are_refused_at_once"),
    ("link loops below **", "read a file many times", "reading/test_discovery.py::test_a_link_to_a_folder_above_is_an_error"),
    ("huge numbers, deaf to Ctrl-C", "`ace(binning=10**12)` and `accepted(10**17, 10**18)` never ended",
     "test_public_arguments.py::test_only_clean_errors_leave test_interrupts.py::test_an_interrupt_is_heard_within_a_second"),
    ("a forked child hangs", "the child hung", "reading/test_fork.py::test_a_forked_process_does_not_hang"),
    ("memory limits", "polars aborted, or \"this is a bug\"",
     "faults/test_preloaded.py::test_a_call_that_fails_gives_the_right_answer_or_an_error_and_harms_no_file "
     "cli/test_mistakes.py::test_an_error_from_inside_polars_is_told_as_one"),
    ("decisions at the extremes", "compared with SciPy alone, which is off there",
     "metrics/test_extremes.py::test_decisions_are_right_beside_both_ends metrics/test_extremes.py::test_an_overflow_of_scipy_does_not_escape"),
    ("counts beyond 64 bits", "`p_value(5, 2**63 + 5, .5)` was 0.0",
     "metrics/test_hypotheses.py::test_counts_that_floats_cannot_hold_are_refused test_public_arguments.py::test_only_clean_errors_leave"),
    ("values and names that engines take otherwise", 'DuckDB grouped `by="*"` by the label',
     "reading/test_names_and_values.py::test_a_name_means_the_column_itself reading/test_names_and_values.py::test_a_value_means_the_same_everywhere"),
    ("columns of one name", "the first was taken", "reading/test_csv_corpus.py::test_no_row_is_lost"),
    ("broken npz, ~name.csv, min_p_value = 5e-324", '"this is a bug" for each', "cli/test_hostile.py::test_nothing_is_called_a_bug"),
    ("closed standard output", "a passing gate exited with 1", "cli/test_terminal.py::test_closed_streams_leave_the_exit_code_alone"),
    ("names in messages, pictures and spreadsheets", "escapes reached the terminal, <a href> was a link, =1+1 a formula",
     "plot/test_names.py::test_messages_hold_no_escapes plot/test_names.py::test_pictures "
     "plot/test_names.py::test_pages plot/test_names.py::test_spreadsheets_compute_nothing "
     "plot/test_names.py::test_a_terminal_and_files_get_no_escapes"),
    ("names of 245 bytes", "File name too long", "test_atomic.py::test_the_longest_names_are_written"),
    ("forged summaries", "4 GB were asked for, 37 panics, 12 KeyErrors",
     "data/test_forged.py::test_a_lying_footer_asks_for_no_memory data/test_forged.py::test_forged_files_are_read_or_refused"),
    ("a loss of power", "never simulated",
     "test_atomic.py::test_a_loss_of_power_leaves_the_old_file_or_the_new_one_whole"),
    ("a file replaced while it is read", "not noticed", "reading/test_discovery.py::test_a_file_replaced_while_it_is_read_is_an_error"),
    ("columns called like parameters", "`rate` became RATE in errors",
     "cli/test_mistakes.py::test_columns_called_like_parameters_keep_their_names"),
    # of the second hostile test
    ("missing and misspelt labels are negatives with `pos_label`", "a model off by 1.5 with a third of its labels NULL passed",
     "reading/test_hostile.py::test_a_word_for_a_missing_label_is_missing_wherever_it_stands "
     "reading/test_hostile.py::test_a_third_label_is_an_error_that_lists_it "
     "reading/test_hostile.py::test_the_gate_does_not_pass_on_labels_that_are_no_labels gate/test_attacks.py::test_an_attack_does_not_pass"),
    ("the action drops options on an unbalanced quote", "the default rule was run: PASS",
     "test_workflows.py::test_the_action_refuses_options_that_it_cannot_read test_workflows.py::test_the_action_reads_options_as_a_shell_does "
     "test_workflows.py::test_the_action_ends_as_the_check_does"),
    ("tallies ignore [data] of the rules", "rows failed, tallies of the same rows passed",
     "cli/test_sampling.py::test_tallies_that_were_not_made_as_the_rules_say_are_refused"),
    ("a folder passes over files", "b.csv.bz2, part-00003 and _day4.csv were not read, in silence",
     "reading/test_hostile.py::test_a_folder_names_what_it_passes_over"),
    ("Parquet that lies about its order", "rows moved between segments", "reading/test_hostile.py::test_a_claim_of_order_in_parquet_is_not_trusted"),
    ("empty values are ignored", '--map "" was no map, --by "" no segments', "cli/test_empty.py::test_an_empty_value_is_misuse"),
    ("limits that cannot fail", "--min-value 15 and max_value = 100 were within the limit",
     "gate/test_judge.py::test_a_limit_that_no_value_breaks_is_refused gate/test_judge.py::test_rules_refuse_what_makes_no_sense"),
    ("lines of JSON with duplicate keys", "the first value was taken", "reading/test_hostile.py::test_lines_of_json_that_parsers_differ_on_are_refused"),
    ("check --map with segments of another type", "all rows got the common map, without a note",
     "gate/test_recalibrated.py::test_rows_of_segments_unknown_to_the_map_are_told"),
    ("an array that changes while it is sorted", "heap corruption; exit 139 on a map of a file",
     "metrics/test_races.py::test_no_call_dies_of_arrays_that_change"),
    ("workflow commands through names", "17 of 23 commands printed ::stop-commands::",
     "cli/test_injection.py::test_names_are_no_commands cli/test_injection.py::test_text_is_written_in_one_place"),
    ("JSON nested 600 deep", "segmentation fault", "reading/test_hostile.py::test_lines_of_json_that_parsers_differ_on_are_refused"),
    ("actions pinned to tags", "a tag can be moved", "test_workflows.py::test_every_action_is_pinned_to_a_commit_and_its_version_is_told"),
    ("overflow invents segments", "205 of 2,000 keys of 20 columns were right", "reading/test_hostile.py::test_segments_of_twenty_columns_are_exact"),
    ("masked arrays in a mapping", "read unmasked",
     "reading/test_hostile.py::test_masked_arrays_in_a_mapping_are_masked gate/test_attacks.py::test_a_call_does_not_pass "
     "analysis/test_recalibrate.py::test_masked_predictions_are_not_recalibrated_as_what_lies_below_the_mask"),
    ("HUGEINT and DECIMAL of DuckDB as segments", "2^53 and 2^53 + 1 were one", "reading/test_hostile.py::test_whole_numbers_and_decimals_of_duckdb_are_exact_keys"),
    ("a NaN in the state of a monitor", "it never raised an alarm again, 25 of 744 edits; 36 of 528 were called a bug",
     "analysis/test_monitor_state.py::test_no_edit_silences_a_monitor"),
    ("a state by links in two folders", "updates were lost", "analysis/test_monitor_state.py::test_runs_that_reach_a_state_by_links_take_turns"),
    ("series of one name for Prometheus", 'null and the text "None"',
     "analysis/test_monitor_state.py::test_every_series_has_a_name_of_its_own_in_the_file_for_prometheus"),
    ("`Monitor().update([1], [0.0])`, then HTML", "an error", "analysis/test_monitor_state.py::test_a_contradicted_certainty_is_written_and_shown"),
    ("tolerance 0.5 at 0.5000000000000001", "an error", "verdict/test_power.py::test_a_tolerance_up_to_the_end_has_a_verdict"),
    ("`plan 1e-320`", "an error", "verdict/test_power.py::test_the_smallest_predictions_have_a_plan"),
    ("--memory of 300 digits", "an error", "cli/test_empty.py::test_a_number_of_many_digits_is_refused"),
    ("dictionaries with unsigned indices", "an error", "reading/test_hostile.py::test_dictionaries_of_any_index_are_segments"),
    ("months of Dask", "NotImplementedError", "reading/test_hostile.py::test_months_of_dask_are_those_of_pandas"),
    ("BLOB as a segment", "an error", "reading/test_hostile.py::test_bytes_are_no_segments"),
    ("`ulimit -v` of 400 MB to 1 GB", "polars aborted, exit 134", "cli/test_mistakes.py::test_an_abort_of_a_library_is_told"),
    ("standard error on a full disk", "a gate that passes exited with 1", "gate/test_attacks.py::test_a_full_standard_error_does_not_fail_a_gate_that_passes"),
    ("names of 20,000 signs", "58 s", "test_text.py::test_long_names_are_shortened_in_linear_time"),
    ("a monitor of 100,000 periods", "226 s, and 118 s if nothing was new",
     "analysis/test_monitor_state.py::test_the_time_of_an_update_is_linear_in_the_periods "
     "analysis/test_monitor_state.py::test_a_state_is_not_written_again_if_nothing_is_new"),
    ("weights of 2^31", "minutes, and intervals that end in NaN", "metrics/test_poisson_binomial.py::test_any_number_of_rows_that_are_all_alike_has_an_interval"),
    ("`check` of 1e6 segments", "261 s, 13 GB, a JUnit file of 477 MB",
     "gate/test_check.py::test_a_hundred_thousand_segments_have_a_small_file_for_ci "
     "gate/test_check.py::test_many_segments_are_judged_as_few_without_their_cells "
     "gate/test_judge.py::test_junit_of_many_checks_holds_what_did_not_pass_and_counts_the_rest"),
    ("`apply` on a full disk", "the input was to blame", "cli/test_recalibrate.py::test_a_full_disk_is_told_of_the_output"),
    ("a truncated zst", '"incomplete frame", of no file', "reading/test_hostile.py::test_a_file_of_zstandard_that_was_cut_is_named"),
    ("a mistyped column without polars", '"Files need polars"', "reading/test_plain.py::test_a_mistyped_column_is_told_without_polars"),
    # of attacks on the gate
    ("a tolerance of everything", "--tolerance 0.999 passed every model", "gate/test_attacks.py::test_an_attack_does_not_pass gate/test_attacks.py::test_a_call_does_not_pass"),
    ("--max-dropped beside no other rule", "it took the place of the verdict", "gate/test_attacks.py::test_an_attack_does_not_pass"),
    ("an interval of a saved result whose ends are swapped", "the difference from it contained every limit",
     "gate/test_attacks.py::test_an_attack_does_not_pass"),
    ("-hy in the options of the action", "help, exit 0", "test_workflows.py::test_the_action_refuses_options_that_it_cannot_read"),
]  # fmt: skip


@pytest.mark.parametrize("fault", BROKE, ids=lambda fault: fault[0])
def test_every_fault_has_a_test(fault):
    for name in fault[2].split():
        file, _, test = name.partition("::")
        tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
