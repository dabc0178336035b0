// limits.h: every bound of Postern on one page.
//
// Whatever a client sends is compared with a number from here before it sizes, counts or repeats anything.
// A bound that an administrator may want to move is the default of a setting (src/plugin/*.def) and is
// marked (setting); the others are facts of the design. Names end in their unit and `max`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace postern::limits {

// --- bounds of one request -----------------------------------------------------------------------------------

/// Bytes of one request line, its end included (setting).
inline constexpr size_t request_bytes_max = size_t{16} << 20;
/// Bytes of one encoded row; the server bounds a stored value by max_allowed_packet long before this.
inline constexpr size_t row_bytes_max = size_t{256} << 20;
/// Key values of one IN list (setting).
inline constexpr uint32_t key_values_max = 10'000;
/// Columns, and filter columns, of one open index: the server allows no table with more.
inline constexpr uint32_t columns_max = 4'096;
/// Bytes of one item's value (setting).
inline constexpr size_t item_bytes_max = size_t{64} << 20;
/// Parts of a key: MAX_REF_PARTS of the server.
inline constexpr uint32_t key_parts_max = 32;
/// Filters of one request.
inline constexpr uint32_t filters_max = 256;
/// Bytes of a database, table, index or column name: 64 characters of up to four bytes.
inline constexpr size_t name_bytes_max = 256;

// --- bounds of one connection ---------------------------------------------------------------------------------

/// Indexes one connection may have open (setting).
inline constexpr uint32_t open_indexes_max = 1'024;
/// Bytes of a fresh buffer block; also what one receive asks for.
inline constexpr size_t block_bytes_min = size_t{4} << 10;
/// The largest block: bounds one connection's input and output each.
inline constexpr size_t block_bytes_max = size_t{512} << 20;
/// Blocks above this size are counted against buffer_bytes_max, and no thread keeps them for itself.
inline constexpr size_t block_bytes_recycled_max = size_t{64} << 10;
/// Unsent output above this stops reading from the connection until it drains, and puts off finds already read.
inline constexpr size_t output_high_water_bytes = size_t{256} << 10;
/// Bytes an encoder may reserve at a time.
inline constexpr size_t output_piece_bytes_max = size_t{64} << 10;

// --- the statement pool ----------------------------------------------------------------------------------------

/// Clients that have not logged in yet keep a thread each; more wait for one to finish.
inline constexpr size_t pool_logins_max = 128;
/// Threads that are started only to end sessions.
inline constexpr size_t pool_endings_max = 8;
/// Seconds that a thread without work stays.
inline constexpr int pool_idle_s = 10;
/// Milliseconds that a client may read nothing before the server gives up sending to it.
inline constexpr int64_t pool_flush_ms_max = 60'000;

// --- bounds of a worker's turn ---------------------------------------------------------------------------------

/// Requests in one batch.
inline constexpr uint32_t ops_per_batch_max = 4'096;
/// Requests of one connection in one batch.
inline constexpr uint32_t ops_per_connection_max = 256;
/// Connections taken from the poller at once.
inline constexpr uint32_t events_per_turn_max = 512;
/// TLS handshakes that may go a step further: a step may take a millisecond, and tables may be held meanwhile.
inline constexpr uint32_t handshakes_per_turn_max = 8;
/// TLS handshakes of one worker under way: a client may make each take some 150 KiB. More wait for one to end.
inline constexpr uint32_t handshakes_max = 1'024;
/// Milliseconds after which a handshake makes way if others wait.
inline constexpr int handshake_patience_ms = 2'000;
/// Milliseconds between two checks for a handshake that has made way.
inline constexpr int handshake_look_ms = 10;
/// Bytes that one send over TLS encrypts.
inline constexpr size_t tls_bytes_per_send_max = size_t{256} << 10;
/// A run of at least finds_shared_min finds looks for equal ones. The next run looks again if at least one find in
/// finds_shared_one_in had an equal; otherwise only one run in finds_shared_retry_runs does.
inline constexpr size_t finds_shared_min = 64;
inline constexpr size_t finds_shared_one_in = 16;
inline constexpr uint32_t finds_shared_retry_runs = 16;
/// Bytes kept for equal finds: of one find's key, of one answer, and of all in a run.
inline constexpr size_t shared_question_bytes_max = 512;
inline constexpr size_t shared_answer_bytes_max = size_t{2} << 10;
inline constexpr size_t shared_bytes_max = size_t{128} << 10;
/// Rows one find may examine, and bytes it may answer, before it moves to the slow lane.
inline constexpr uint64_t find_rows_fast_max = 4'000;
inline constexpr size_t find_bytes_fast_max = size_t{128} << 10;
/// Bytes of a find's first row that a turn still answers: the slow lane would read the row again, and copying it takes
/// no longer than examining find_rows_fast_max rows.
inline constexpr size_t first_row_bytes_fast_max = size_t{2} << 20;
/// Rows all finds of one batch may examine; a find that would go on beyond moves to the slow lane.
inline constexpr uint64_t batch_rows_max = 20'000;
/// Bytes of all rows above find_bytes_fast_max in one batch: some two milliseconds. Further such finds wait for the
/// next turn.
inline constexpr size_t batch_large_bytes_max = size_t{4} << 20;
/// A session that has added an op to a batch adds no more once the batch's arena holds so many bytes.
inline constexpr size_t arena_bytes_per_batch_max = size_t{4} << 20;
/// Arena bytes a worker keeps between batches; more is given back.
inline constexpr size_t arena_bytes_kept = size_t{256} << 10;

/// A run without writes for at most so many connections, or ops, sends each connection's replies before it carries out
/// the next one's ops.
inline constexpr size_t connections_sent_early_max = 8;
inline constexpr size_t ops_sent_early_max = 16;
/// In a run without writes replies leave at once if they have so many bytes for each connection on average: they are
/// still in the processor's cache, and their block is free for the next connection. Shorter replies are not worth a
/// send of their own.
inline constexpr size_t reply_bytes_sent_early_min = size_t{16} << 10;
/// Bytes of one connection's replies that are sent ahead of its other replies, and their bound in one turn, which
/// bounds one connection's share of a turn.
inline constexpr size_t reply_bytes_sent_ahead_min = size_t{64} << 10;
inline constexpr size_t reply_bytes_sent_ahead_max = output_high_water_bytes;

/// Microseconds that a writing worker waits for one more connection to join a batch, and for all of them together,
/// while other connections read. It never waits longer than its last batch slept (door/connections/commit_delay.h).
inline constexpr int64_t commit_delay_gap_us = 50;
inline constexpr int64_t commit_delay_us_max = 1'000;

/// Milliseconds all writes of one batch may wait for row locks together; a write that would wait longer moves to the
/// slow lane, so that one locked row does not hold up other connections for long.
inline constexpr int row_wait_fast_ms = 5;

// --- the slow lane ---------------------------------------------------------------------------------------------

/// Rows between two checks for waiting DDL, for KILL, and for a client that no longer wants the answer.
inline constexpr uint32_t rows_between_looks = 64;
/// Milliseconds between two checks that a client is still there.
inline constexpr int presence_ms = 10;
/// Milliseconds a scan thread waits for a client to read earlier bytes before it serves another one.
inline constexpr int client_stall_ms_max = 50;
/// Milliseconds a scan thread works for one client while others wait for it.
inline constexpr int slice_ms = 20;
/// Milliseconds between two tries to open a table that DDL holds: first and last.
inline constexpr int busy_retry_ms_min = 1;
inline constexpr int busy_retry_ms_max = 10;

/// Milliseconds for which inserts keep away from shared runs after one has found its table's AUTO-INC lock held.
inline constexpr uint64_t autoinc_held_ms = 100;
/// Milliseconds a write waits for a row lock before it lets others have its thread and queues up again.
inline constexpr int row_wait_slow_ms = 50;
/// Tries in a millisecond of jobs that wait for tables or rows, if there are many.
inline constexpr size_t busy_tries_per_ms_max = 2;
/// Milliseconds that all queued jobs together may wait for row locks until each has been tried once. Jobs that keep
/// their thread do not count.
inline constexpr int row_wait_shared_ms = 20;
/// Jobs waiting for rows of a table that are tried at once when one of them gets its row.
inline constexpr size_t row_waiters_tried = 8;
/// Times a write that is run alone is run again after its transaction was lost.
inline constexpr int lost_runs_max = 20;
/// Rows one edit may change; more would be one transaction that the server can neither commit nor undo in time.
inline constexpr uint64_t edit_rows_max = 10'000'000;
/// Bytes of the noted positions of those rows: each as long as the primary key.
inline constexpr size_t edit_places_bytes_max = size_t{256} << 20;
/// Bytes of the reply of an edit: it is held until the transaction is committed.
inline constexpr size_t edit_reply_bytes_max = size_t{64} << 20;

// --- logins ---------------------------------------------------------------------------------------------------

/// Threads of a door that verify logins: a login that waits for a name server must not hold up the others.
inline constexpr uint32_t login_threads = 2;
/// Bytes of a password; the server takes less.
inline constexpr size_t password_bytes_max = 4'096;
/// Logins of one door that may wait for a thread; more are refused.
inline constexpr size_t logins_waiting_max = 1'000;
/// Entries in the memory of failed logins.
inline constexpr size_t throttle_entries_max = 8'192;
/// Milliseconds for which a check of an account's privileges holds.
inline constexpr int privileges_hold_ms = 100;
/// Such checks that an executor remembers.
inline constexpr size_t privileges_remembered_max = 16'384;

// --- open indexes kept by an executor --------------------------------------------------------------------------

/// Tables that may stay open from one batch to the next.
inline constexpr size_t tables_open_max = 512;
/// Bytes about open indexes that a thread may keep while it sleeps. With more it drops all, and looks them up again at
/// the next request.
inline constexpr size_t open_tables_bytes_kept = size_t{256} << 10;
/// A busy thread with more than so many bytes drops entries of indexes that are no longer open.
inline constexpr size_t open_tables_bytes_max = size_t{4} << 20;

/// An OwnBlock of so many bytes has a mapping of its own: malloc's initial threshold.
inline constexpr size_t own_block_bytes_mapped_min = size_t{128} << 10;

// --- bounds of the process ---------------------------------------------------------------------------------------

/// Connections of one door (setting).
inline constexpr uint32_t connections_max = 20'000;
/// Bytes of items that a protocol keeps in memory (setting).
inline constexpr size_t cache_bytes = size_t{64} << 20;
/// Bytes of all blocks larger than block_bytes_recycled_max, over all doors (setting).
inline constexpr size_t buffer_bytes_max = size_t{1} << 30;
/// Milliseconds between two checks for new certificates; each new connection checks, too.
inline constexpr int certificates_look_ms = 250;
/// Milliseconds a worker with nothing to do keeps its tables before it gives them up and sleeps. More than the kernel's
/// usual tick of 4: a shorter wait makes the kernel reprogram the processor's timer each time, which on a virtual
/// machine costs up to 4 us.
inline constexpr int linger_ms = 5;

}  // namespace postern::limits
