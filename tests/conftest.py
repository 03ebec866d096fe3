"""Fixtures, and the switch that turns every skip for a missing part into a failure."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
from pathlib import Path

# Threads of linear algebra and of OpenMP wait by spinning; with a worker on every processor they would only do that.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a shell; programs that tests start would be deaf
    signal.signal(signal.SIGINT, signal.default_int_handler)
# a busy machine is no fault of an example: no deadline, and none for drawing it
SETTINGS = {"deadline": None, "print_blob": True, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("truecal", **SETTINGS)
settings.load_profile("truecal")

# What `make quick` leaves out: files that start processes, clusters or a browser, and single tests of seconds.
SLOW_FILES = (
    *(
        "cli/test_cli",
        "cli/test_clusters",
        "cli/test_hostile",
        "cli/test_labelling",
        "cli/test_mistakes",
        "cli/test_scale",
        "cli/test_terminal",
        "faults/test_from_python",
        "faults/test_preloaded",
        "reading/test_clusters",
    ),
    *(
        "reporting/test_browser",
        "reporting/test_report",
        "reproduction/test_parts",
        "reproduction/test_reproduction",
        "test_demo",
        "test_kernel",
    ),
    *("observations/test_forged", "plugs/test_plugs", "reading/test_fork", "test_interrupts", "test_public_arguments"),
)
SLOW_TESTS = (
    "test_a_check_of_two_models_segments_and_a_baseline_scans_once",
    "test_a_factor_that_both_have_is_no_move",
    "test_a_frame_gives_the_tally_of_its_columns",
    "test_a_hundred_million_rows_draw_like_ten_thousand",
    "test_a_model_20_percent_off_is_found_where_the_prevalence_is_still",
    "test_a_notebook_shows_a_table_and_a_picture",
    "test_a_right_model_of_ten_classes_is_off_at_the_level",
    "test_a_right_model_scores_its_level",
    "test_a_right_model_scores_the_level",
    "test_a_run_a_day_raises_the_alarm_and_keeps_it",
    "test_a_terminal_sees_progress",
    "test_a_year_of_days_is_one_pass_over_the_rows",
    "test_accepted_interval_is_what_is_not_rejected",
    "test_an_interrupt_stops_it_at_once_and_pipes_stay_clean",
    "test_any_text_is_read_as_csv_reads_it_or_refused",
    "test_archives_are_what_an_index_takes",
    "test_at_most_2_percent_of_right_models_fail",
    "test_at_most_5_percent_of_12_right_segments_have_one_that_fails",
    "test_atb_is_lowest_on_average_for_the_truth",
    "test_binomial_decides_as_scipy_near_and_far_from_every_end",
    "test_binomial_p_value_is_scipys",
    "test_bounded_isotonic_is_the_oracle_on_long_data",
    "test_bounds_hold_for_scores_at_the_very_ends_and_holes_of_what_is_accepted",
    "test_bounds_hold_on_many_data_sets",
    "test_commands_of_the_readme_print_what_it_says",
    "test_copies_of_a_killed_process_are_removed_when_the_next_copy_is_made",
    "test_counts_on_data_equal_one_scipy_test_per_prediction",
    "test_customers_who_come_again_tell_less_than_new_ones",
    "test_dates_stay_readable_for_any_number_of_windows",
    "test_decisions_are_right_beside_both_ends",
    "test_default_sizes_keep_a_perfect_model_low_at_any_size",
    "test_difference_finds_the_better_model_and_admits_ties",
    "test_direction_adds_up",
    "test_every_engine_finds_the_same_cells_to_the_last_bit",
    "test_every_engine_makes_the_same_cells",
    "test_every_exception_is_needed_and_has_a_reason",
    "test_examples_of_a_page_run",
    "test_examples_of_docstrings_run",
    "test_false_alarms_are_rare_however_often_one_looks",
    "test_few_false_alarms_over_many_segments",
    "test_files_need_no_narwhals",
    "test_float32_equals_its_float64_image",
    "test_gap_family_equals_the_oracle",
    "test_grid_search_prefers_the_calibrated_model",
    "test_interval_covers_what_new_labels_average",
    "test_interval_covers_where_two_parameters_describe_the_model_badly",
    "test_it_keeps_the_rules_of_scikit_learn",
    "test_kept_rows_of_a_known_population_follow_the_law_of_what_is_tested",
    "test_labels_never_overlap",
    "test_labels_of_very_many_scores_are_redrawn_for_cells",
    "test_large_plans_have_the_power_and_nearly_the_least_size",
    "test_limits_fail_only_where_the_data_show_it",
    "test_many_classes_have_about_the_verdicts_of_their_columns",
    "test_many_threads_at_once_find_what_one_finds",
    "test_more_significance_never_rejects_less",
    "test_more_tolerance_never_rejects_more",
    "test_no_flipped_bit_loads",
    "test_no_truncated_or_lengthened_file_loads",
    "test_nothing_that_only_unix_has_is_needed",
    "test_p_value_is_uniform_for_a_perfect_model",
    "test_p_values_of_right_windows_are_valid_though_drawing_stops_early",
    "test_pieces_of_another_engine_add_up",
    "test_polars_frames_need_no_narwhals",
    "test_prevalence_that_moves_with_the_model_right_raises_no_alarm_beyond_the_level",
    "test_processes_killed_at_any_moment_leave_a_whole_file",
    "test_random_files_are_read_as_others_read_them_or_refused",
    "test_right_models_are_called_off_as_often_as_the_level_says",
    "test_right_models_are_left_alone",
    "test_right_models_are_seldom_off",
    "test_row_order_is_irrelevant",
    "test_rows_of_one_customer_are_not_taken_as_many",
    "test_segments_and_windows_are_of_the_population",
    "test_segments_come_from_one_pass",
    "test_several_results_are_written_by_their_names",
    "test_smooth_ece_is_its_own_bandwidth",
    "test_streams_are_called_by_what_they_are",
    "test_tails_are_close_to_convolution",
    "test_tallies_a_page_and_a_map_hold_probabilities",
    "test_tallies_are_evaluated_like_their_data",
    "test_ten_models_are_all_printed_and_counted",
    "test_tensors_that_do_not_fit_are_told",
    "test_terminal_notebook_and_picture_say_what_the_verdict_says",
    "test_the_answer_is_that_of_probabilities",
    "test_the_blocks_of_the_page_run",
    "test_the_gallery_is_what_its_script_writes",
    "test_the_pictures_of_other_pages_say_what_is_found_today",
    "test_the_planned_rows_find_the_error_as_often_as_asked",
    "test_the_report_has_a_section",
    "test_the_traces_hold_the_table",
    "test_the_wheel_gives_a_number_without_a_compiler",
    "test_threads_that_share_a_tally_find_what_one_finds",
    "test_times_are_cut_into_windows",
    "test_tolerance_rejects_only_if_its_whole_band_is_rejected",
    "test_torch",
    "test_totals_of_unequal_predictions_have_their_level",
    "test_two_writers_at_once_leave_one_whole_file",
    "test_two_writers_never_make_a_file_that_loads_and_is_wrong",
    "test_weights_are_repetitions",
    "test_what_is_written_is_read",
    "test_what_is_written_reads_back_equal",
    "test_what_outgrows_memory_is_sorted_on_disk",
    "test_what_would_have_been_found_is_found_in_four_of_five",
    "test_windows_add_up_to_longer_ones",
    "test_windows_are_those_of_the_text",
    "test_zsh_completes_what_is_typed",
)


def _waits(name: str) -> bool:
    """Whether a test asks an engine many questions, or one that takes a second for each."""
    names = "test_a_name_means_the_column_itself["
    return "spark" in name or "dask" in name or (name.startswith(names) and not name.startswith(f"{names}polars"))


# What is dear to start or to compute is so in one worker only: all tests of these files run in the same.
SHARED = (
    "faults/test_preloaded",
    "reporting/test_browser",
    "reproduction/test_reproduction",
    "test_demo",
    "test_kernel",
    "test_packaging",
)


def _find_group(nodeid: str) -> str:
    """What must run in the same worker as a test."""
    place, _, name = nodeid.partition("::")
    file = place.removeprefix("tests/").removesuffix(".py")
    if file == "reading/test_clusters":
        return "cluster of Spark" if "spark" in name else "cluster of Dask"
    if "spark" in name:
        return "Spark"
    return file if file in SHARED else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Large groups first, then single tests. Marks for groups are lost where pytest is newer than pytest-xdist knows."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _find_group(nodeid)

    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, which comes first so that workers end together."""
    here = Path(__file__).parent
    for item in items:
        file = item.path.relative_to(here).with_suffix("").as_posix()
        if file in SLOW_FILES or getattr(item, "originalname", item.name) in SLOW_TESTS or _waits(item.name):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


# Whether tests of many cases try all of them, as `make long` does, or some.
LONG = os.environ.get("TRUECAL_LONG") == "1"


def fewer(count: int, by: int) -> int:
    """A number of cases: all, or one in `by`."""
    return count if LONG else count // by


REQUIRE_ALL = os.environ.get("TRUECAL_REQUIRE_ALL") == "1"


def missing(what: str) -> None:
    """Skip, or fail where everything is required."""
    if REQUIRE_ALL:
        pytest.fail(f"TRUECAL_REQUIRE_ALL=1, but {what}", pytrace=False)
    pytest.skip(what, allow_module_level=True)


@pytest.fixture
def need():
    """Import an optional library, or skip."""

    def load(name: str):
        try:
            return importlib.import_module(name)
        except ImportError:
            missing(f"{name} is not installed")

    return load


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data, named by TRUECAL_DATA; "none" says that there is none to be had."""
    given = os.environ.get("TRUECAL_DATA")
    if given == "none":
        pytest.skip("TRUECAL_DATA=none: the paper's data are not here")
    if given is None:
        missing("TRUECAL_DATA does not name a folder with the paper's data")
    folder = Path(given)
    if not folder.is_dir():
        missing(f"TRUECAL_DATA names {given}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def imagenet(data_dir) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels and predictions of the ImageNet models at hand, by the name in the paper's table."""
    folder = data_dir / "imagenet"
    if not folder.is_dir():
        missing(f"{folder} is not there")
    y = np.load(folder / "labels.npy")
    files = {"AlexNet": "preds_00.npy", "VGG19": "preds_01.npy", "Res152": "preds_04.npy"}
    return {name: (y, np.clip(np.load(folder / file), 0, 1)) for name, file in files.items()}


@pytest.fixture(scope="session")
def spark():
    """A Spark session in this process; it needs Java."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("pyspark is not installed")
    if shutil.which("java") is None:
        missing("Java is not installed, which Spark needs")
    options = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        # tables of a few rows: as quick to start and to plan as can be
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20230731)
