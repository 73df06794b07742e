//! The longer texts of the help. A paragraph is one line, as clap wraps it to the terminal; tables and examples are at most 80
//! columns wide.

/// What every help of a client command ends with.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    completed, or shown what was asked for
  1    the batch ended partial or failed, or a plan has calls that would fail
  2    refused, or wrong usage; nothing was run
  3    the server cannot be reached, or was lost
  130  interrupted (Ctrl-C, or standard output was closed); what began goes on

Environment:
  TOOLBATCH_SERVER  the server, as --server
  TOOLBATCH_TENANT  the tenant, as --tenant
  TOOLBATCH_TOKEN   the token, where the server asks for one
  TOOLBATCH_CA, TOOLBATCH_CERT, TOOLBATCH_KEY   as --ca, --cert and --key
  NO_COLOR          set to anything: no colour";

pub(super) const TOP_HELP: &str = "\
Try it:
  toolbatch demo                     see what it is for; needs nothing
  toolbatch demo-backend             a sample tool backend on 127.0.0.1:7001
  toolbatch config > toolbatch.toml  a commented configuration
  toolbatch serve --config toolbatch.toml
  toolbatch run orders.json --task T1

`toolbatch COMMAND --help` tells each command's options, bounds and exit codes.";

pub(super) const SERVE_HELP: &str = "\
Without --config: listens on 127.0.0.1:50051, keeps its data in ./data, and asks nobody for a token. `toolbatch config` \
prints a sample with every field, its bounds and its default.

SIGTERM or Ctrl-C: no further call starts, running ones have `shutdown_grace` (30 s) to finish. A second one stops at \
once, as a crash would. Either way, the next start goes on with every batch that is not finished.

SIGHUP: agents, operators, their tokens, the backends' credentials and the certificates of [tls] are read again; where \
something is wrong, what was there before goes on.

Examples:
  toolbatch serve
  toolbatch serve --config toolbatch.toml --log-format json

Exit codes:
  0    stopped gracefully
  2    the configuration is wrong, or the address cannot be listened on
  4    the store is refused: damaged, in use, newer, or not writable
  5    the store failed while running; the next start reads back what is safe
  130  stopped at once by a second signal

Environment:
  TOOLBATCH_LOG  what is logged: a level (info is the default), or levels by
                 module, such as warn,toolbatch=debug";

pub(super) const CHECK_HELP: &str = "\
Reads the file, then asks each address of each backend for its tools (5 s each). Nothing is changed.

Exit codes:
  0  the file is right and every backend answered
  2  something is wrong; each finding stands on its own line";

pub(super) const RUN_HELP: &str = "\
The file is one JSON object:
  {
    \"mode\": \"parallel\",          \"sequential\" (default) or \"parallel\"
    \"max_concurrency\": 4,        parallel: calls at once, 1 to 16; default 4
    \"serialize_on\": \"contract\",  parallel: equal values at this path of the
                                 args run one at a time, in order
    \"stop_on_error\": true,       no call starts after a failure (default)
    \"include_results\": true,     results under 4 KiB in events (default)
    \"call_timeout\": \"5m\",        bound on one attempt; ms, s, m, h; up to 24h
    \"retry\": {                   default: a call is attempted once
      \"max_attempts\": 3,         1 to 10
      \"initial_backoff\": \"1s\",   0ms to 10m; default 100ms
      \"max_backoff\": \"10s\",      0ms to 10m; default 10s
      \"backoff_multiplier\": 2    1 to 10; default 2
    },
    \"in_doubt\": \"rerun\",         cut off: \"rerun\" (default), \"lookup\", \"fail\"
    \"calls\": [                   1 to 200, or a reference: \"${VAR_1}.calls\"
      {\"tool\": \"create_sales_order\", \"key\": \"order-1\",
       \"args\": {\"contract\": \"40040343\", \"item\": \"pump\", \"quantity\": 2}}
    ]
  }
Only `calls`, and `tool` in each of them, must be there. A keyed call runs at most once per task: run the file again in \
the same task, and what is done is skipped. args go to the tool byte for byte. The file may be 17 MiB long, a request \
16 MiB, the args of one call 1 MiB.

If the connection breaks, `run` comes back to its batch by itself, for about 35 s, and shows no event twice. Progress of \
a call is shown on a terminal and with --json.

Examples:
  toolbatch run orders.json --task T1
  toolbatch run orders.json --task T1 --plan
  generate | toolbatch run - --parallel 8 --serialize-on contract
  toolbatch run orders.json --json | jq -c 'select(.event == \"call_finished\")'";

pub(super) const JSON_HELP: &str = "\
--json writes one object per line, for `run` and `watch` alike:
  {\"event\": \"call_started\", \"batch_id\": …, \"sequence\": 2, \"time\": …, …}
and, by event:
  batch_planned   calls: [{index, tool, base_tool, backend, key, lane,
                  skipped_step_id, error …}]
  batch_started   task_id, agent_id, total, options
  call_started    index, tool, key, step_id, attempt
  call_progress   index, step_id, progress, total, message; without a sequence
  call_retrying   index, step_id, attempt, error …, retry_time
  call_finished   index, tool, key, status, step_id, attempts, duration_ms,
                  result or result_omitted, error …, args_changed, await_id
  batch_resumed   in_doubt: [index]
  batch_finished  status, total, succeeded, failed, skipped, awaiting, not_run,
                  stop_reason, results: [as call_finished]
`error …` stands for error (text), error_reason, error_code, outcome_unknown, retryable. What is empty or false is left \
out. Names of values are in lower case, durations in whole milliseconds, times in RFC 3339. result is the tool's JSON, \
byte for byte; only line breaks between its tokens become blanks, and on a terminal control characters are escaped.";

pub(super) const STEP_HELP: &str = "\
Examples:
  toolbatch step 0199c1de-5c8c-7f1e-a2e4-2a6b6d3f8a10
  toolbatch step 0199c1de-5c8c-7f1e-a2e4-2a6b6d3f8a10 --result > result.json";

pub(super) const CANCEL_HELP: &str = "\
Calls that are running finish and are recorded; those that wait for a retry are not repeated. A batch that has ended stays as \
it is. The batch is shown as it is then.";

pub(super) const END_HELP: &str = "\
Running calls finish and are recorded, and what is on record stays readable. After a crash nothing of an ended task is taken \
up again. Ending it once more changes nothing.";

pub(super) const KEYS_HELP: &str = "\
`unknown` means that a call was sent and nobody heard what became of it: find out in the system that the tool writes to, where \
the idempotency key may be on record, then `toolbatch settle`.

Examples:
  toolbatch keys T1 --state unknown
  toolbatch keys T1 --json | jq -r .idempotency_key";

pub(super) const SETTLE_HELP: &str = "\
Only for a key whose outcome is unknown; any other is refused. Landed: a later call under the key is skipped, with this \
result. Not landed: a later call runs.

Examples:
  toolbatch settle T1 order-7 --landed
  echo '{\"order\": 450017}' | toolbatch settle T1 order-7 --landed -
  toolbatch settle T1 order-7 --not-landed";

pub(super) const BACKENDS_HELP: &str = "\
For operators. Those of the configuration file and those that were registered.

--json writes {\"name\", \"addresses\", \"health\", \"health_detail\", \"health_time\", \"tools\": [name], \"configured\"} for each.";

pub(super) const BACKEND_ADD_HELP: &str = "\
For operators. The backend is reached and its tools are listed before it is taken in; it stays over restarts of the server. A \
running call ends on its old connection. Where backends may be is set by `allow` in [registration]; without it, on loopback.

Example:
  toolbatch backend add erp http://127.0.0.1:7001 http://127.0.0.1:7002";

pub(super) const SCHEMA_HELP: &str = "\
One definition per line, so that `\"tools\": $(toolbatch schema --for ...)` is a request's list of tools. Anthropic and OpenAI take \
names of letters, digits, _ and - alone, at most 128 and 64 of them: a tool whose name does not fit is refused. A display name \
in the agent's `tools` serves it under another.

Examples:
  toolbatch schema --for anthropic
  toolbatch schema --for openai execute_tool_batch
  toolbatch schema --for mcp --all | jq '.[].name'";

pub(super) const FEED_HELP: &str = "\
A tree on a terminal: each batch with its calls below it, kept up to date in place. Elsewhere a line for each start and each \
end. It goes on until the task has ended and all its batches are over (exit code 0), or until Ctrl-C. If the connection \
breaks, it comes back by itself, for about 35 s, and shows nothing twice.

--json writes {\"step_id\", \"parent_step_id\", \"title\", \"status\", \"detail\", \"update_time\", \"summary\", \
\"resume_token\"} for each; the newest of a step holds.";

pub(super) const USAGE_HELP: &str = "\
A row for each tool and unit, then the total, exact to the last digit. A call counts once it has ended, and once whatever was \
resumed; one whose tool reports no usage counts as one of \"calls\". Prices are those of the server's configuration at this moment.

--json writes each step's rows, then {\"totals\": [{tool, unit, steps, quantity, cost_nanos, currency}], \"costs\": \
[{cost_nanos, currency}]}. cost_nanos counts thousand-millionths of the currency; what has no price has no currency.

Example:
  toolbatch usage T1 --json | jq -c 'select(.costs) | .costs'";

pub(super) const STORE_CHECK_HELP: &str = "\
Reads every record, log, key, step and result, follows every reference, and compares each task with the count and digest \
that are kept of it. Nothing is repaired. One line for each fault names the task, record or file.

--json writes {\"fault\": text} for each, and {\"checked\": {records, tasks, batches, steps, blobs, blob_bytes, faults}} last.

Exit codes:
  0  whole
  4  something does not add up, or the folder cannot be read or is in use";

pub(super) const STORE_BACKUP_HELP: &str = "\
The copy holds everything that was announced before the command began, and nothing by half. The server goes on meanwhile. \
It is checked afterwards, as by `toolbatch store check`.

Examples:
  toolbatch store backup /backup/2026-12-01 --data-dir /var/lib/toolbatch
  toolbatch store restore /backup/2026-12-01 /var/lib/toolbatch

Exit codes:
  0  the copy is made and whole
  2  the place is not empty, or lies inside the data folder
  3  the server cannot be asked
  4  the copy could not be made, or does not add up";

pub(super) const STORE_RESTORE_HELP: &str = "\
What was done after the backup was made is not in it: keys that completed since then will run again. Tell your tools by \
their idempotency keys, or settle such keys first.

Exit codes:
  0  restored and whole
  2  the folder is not empty
  4  the backup does not add up, or one of the two cannot be read or written";

pub(super) const DEMO_HELP: &str = "\
Starts a server on a temporary folder and a sample order system that, as ERPs do, locks a contract while one of its \
orders is posted. Runs a list of orders as a plain parallel fan-out, which the lock makes fail; then the same list in \
the same task with `serialize_on`. Nothing stays behind.

With --json it writes the events of both batches, as `toolbatch run --json` does, and nothing else.";

pub(super) const DEMO_BACKEND_HELP: &str = "\
Serves create_sales_order {contract, item, quantity} and change_order {contract, order, quantity}; orders 450001 to \
450003 are there from the start. A second call on a contract that is being processed fails, as in an ERP. What it was \
told is gone when it stops.

To use it, put this into toolbatch.toml:
  [[backends]]
  name = \"erp\"
  addresses = [\"http://127.0.0.1:7001\"]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_run_shows_a_file_that_can_be_run() {
        let start = RUN_HELP.find("  {\n").unwrap();
        let end = RUN_HELP.find("\n  }\n").unwrap() + 4;
        // What stands behind two blanks explains the field before it.
        let json: String = RUN_HELP[start..end]
            .lines()
            .map(|line| line.trim_start().split("  ").next().unwrap().to_owned() + "\n")
            .filter(|line| !line.starts_with("args run"))
            .collect();
        let request = crate::batch_json::parse(&json, crate::batch_json::Dialect::File).unwrap();
        assert!(request.options.unwrap().retry.is_some());
    }

    #[test]
    fn tables_and_examples_fit_a_small_terminal() {
        let texts = [
            EXIT_CODES,
            TOP_HELP,
            SERVE_HELP,
            CHECK_HELP,
            RUN_HELP,
            JSON_HELP,
            STEP_HELP,
            SCHEMA_HELP,
            STORE_CHECK_HELP,
            STORE_BACKUP_HELP,
            STORE_RESTORE_HELP,
            BACKENDS_HELP,
            BACKEND_ADD_HELP,
            CANCEL_HELP,
            END_HELP,
            KEYS_HELP,
            SETTLE_HELP,
            USAGE_HELP,
            FEED_HELP,
            DEMO_HELP,
            DEMO_BACKEND_HELP,
        ];
        for line in texts.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with(' ')) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
