"""What broke under hostile testing of the first version, and the test of each.

What that version did, as was told then or seen again by the smallest case, stands beside the tests that fail on it.
"""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# the fault, what the first version did, the tests
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
]  # fmt: skip


@pytest.mark.parametrize("fault", BROKE, ids=lambda fault: fault[0])
def test_every_fault_has_a_test(fault):
    for name in fault[2].split():
        file, _, test = name.partition("::")
        tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
