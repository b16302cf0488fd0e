//! What every store promises, asked of each of them.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod concurrency;
mod damage;
mod idempotency;
mod inbox;
mod layout;
mod model;
mod outage;
mod process;
mod rows;
mod schedules;
mod streams;
mod support;
mod sweep;
mod upgrade;

/// Makes a test on each database of every function named.
macro_rules! contract {
    ($($module:ident: [$($name:ident),* $(,)?]),* $(,)?) => {
        mod sqlite {
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                crate::$module::$name(crate::support::World::sqlite().await).await;
            })*)*
        }
        mod postgres {
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                crate::$module::$name(crate::support::World::postgres().await).await;
            })*)*
        }
    };
}

contract! {
    inbox: [
        a_delivery_is_handed_out_with_all_it_came_with,
        entries_are_handed_out_in_order_of_arrival,
        a_stop_command_is_taken_first,
        at_least_one_entry_is_handed_out_however_large,
        what_is_not_settled_is_handed_out_again_and_what_is_settled_never,
        what_a_dead_worker_had_in_hand_goes_to_its_successor_at_once,
        a_late_worker_cannot_settle_what_its_successor_has,
        an_entry_whose_workers_died_too_often_says_so_by_its_attempts,
        nobody_takes_from_a_stream_of_another,
        what_an_owner_let_go_of_was_not_tried,
        streams_that_wait_longest_come_first,
        a_stream_with_a_worker_does_not_wait,
        what_is_not_settled_can_be_looked_at,
    ],
    idempotency: [
        section_4_1_every_row_of_the_table_for_a_stream,
        section_4_1_every_row_of_the_table_for_a_caller,
        what_is_done_at_the_door_is_replayed,
        another_payload_is_a_conflict_in_every_state,
        a_failed_delivery_is_tried_again_until_it_is_exhausted,
        section_4_3_an_abandoned_claim_is_taken_over_and_its_late_caller_refused,
        an_expired_record_is_replaced,
        what_is_unfinished_is_never_forgotten,
        tenants_do_not_see_each_other,
        a_claim_that_is_gone_has_expired,
        a_retried_delivery_brings_its_body_again,
        section_3_3_a_record_tells_all_that_is_remembered,
    ],
    streams: [
        of_two_writers_the_older_is_fenced_off,
        a_lease_that_runs_keeps_others_out,
        an_expired_lease_may_still_append_if_nobody_took_over,
        a_released_lease_is_over,
        an_append_can_let_go_of_the_stream,
        a_stream_is_whose_entries_wait_for_it,
        a_stream_without_an_owner_is_woken_when_it_wants_to_be,
        the_same_owner_gets_a_new_epoch,
        an_append_in_the_wrong_place_is_refused,
        an_append_is_all_or_nothing,
        an_entry_cannot_be_settled_twice,
        a_stream_that_never_was_is_empty,
        compaction_begins_a_new_generation_and_keeps_the_history,
        a_snapshot_out_of_place_is_refused,
        history_is_read_backwards_in_pages,
        streams_are_listed_with_what_waits_for_them,
        the_streams_with_the_most_to_do_are_found_and_all_are_counted,
        many_events_keep_their_order,
    ],
    concurrency: [
        fifty_arrivals_of_one_key_are_one,
        a_crowd_is_taken_in_whole,
        of_many_who_want_a_stream_one_gets_it,
        a_refused_write_does_not_harm_its_neighbours,
        a_caller_that_goes_away_leaves_nothing_open,
        concurrent_writers_of_one_stream_never_leave_a_gap,
    ],
    rows: [
        section_6_1_a_row_of_every_kind_reads_back_as_it_was_written,
        section_2_3_a_run_that_ended_stays_as_it_ended,
        runs_are_listed_newest_first_in_pages,
        runs_are_found_by_tenant_status_repository_and_kind,
        section_5_4_a_silent_run_is_found,
        runs_that_changed_are_found_in_the_order_in_which_they_did,
        runs_that_have_not_ended_are_counted,
        what_came_of_runs_is_summed_up_over_all_of_them,
        what_trains_landed_is_counted_on_its_day_whatever_became_of_them,
        archived_workspaces_are_not_among_those_that_are_open,
        rows_of_another_tenant_are_not_seen,
        a_refused_row_leaves_no_event,
    ],
    schedules: [
        a_schedule_remembers_its_last_slot,
        a_schedule_never_goes_backwards,
        schedules_of_other_tenants_and_names_are_others,
        of_many_who_end_slots_at_once_the_latest_counts,
    ],
    sweep: [
        section_4_3_expired_records_go_and_unfinished_ones_stay,
        bodies_go_after_the_grace_hour,
        whole_generations_go_when_their_successor_is_old,
        old_transitions_go,
        workspaces_that_are_archived_and_sessions_go_after_their_time,
        runs_that_have_ended_go_after_their_time_with_all_that_is_theirs,
        much_is_swept_in_many_steps,
    ],
    model: [
        random_appends_and_compactions_load_like_the_model,
    ],
    layout: [
        an_export_reads_back_into_an_empty_store,
        an_import_into_a_store_that_has_the_stream_is_refused,
        a_broken_export_imports_nothing,
    ],
    damage: [
        an_event_that_changed_is_refused_and_other_streams_go_on,
        a_snapshot_that_changed_is_refused,
        a_missing_event_or_snapshot_is_noticed,
        what_came_in_and_changed_is_refused,
        a_retried_delivery_matches_its_checksum,
        a_row_without_a_checksum_is_believed,
    ],
    outage: [
        a_healthy_store_passes_its_check,
    ],
}
