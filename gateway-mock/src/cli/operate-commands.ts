/** The commands that change what a gateway hands out: pauses of functions, drains of workers. */
import { CLIENT_OPTIONS, PAUSE_OPTIONS, ROLLOUT_OPTIONS } from "./client-options.ts";
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";
import { RESUME_OPTIONS } from "./repair-options.ts";

export const OPERATE_COMMANDS: readonly CommandSpec[] = [
  {
    name: "pause",
    group: WORK_WITH_IT,
    summary: "hand out nothing of a function until it is resumed",
    description:
      "Pauses functions: no worker is given anything of them. What a worker has goes on to the end of its pass; events still\nstart runs, which wait and say why.",
    args: [{ name: "<function...>", doc: "such as shop-order" }],
    rows: PAUSE_OPTIONS,
    examples: [{ doc: "Say why", line: 'holdfast-gateway pause shop-order --note "the bank is down"' }],
  },
  {
    name: "resume",
    group: WORK_WITH_IT,
    summary: "resume paused functions, and runs that failed",
    description:
      "Resumes functions that are paused, and runs that failed or were cancelled: their finished steps stay, what failed is\ntried again. With a filter a job at the gateway resumes all runs that fit (those that failed, unless --status says\notherwise).",
    args: [
      { name: "[id...]", doc: "functions, such as shop-order, or ids of runs; without any, a filter says which runs" },
    ],
    rows: RESUME_OPTIONS,
    examples: [
      { doc: "A function", line: "holdfast-gateway resume shop-order" },
      { doc: "A run, after its bug is fixed", line: "holdfast-gateway resume 01JZ6Q4WJ2M6W9S0V7K3N8T5YB" },
      {
        doc: "All runs of a function that failed since midnight",
        line: "holdfast-gateway resume --function shop-order --after 2027-01-31T00:00:00Z --yes",
      },
    ],
  },
  {
    name: "rollout",
    group: WORK_WITH_IT,
    summary: "begin a share of an app's new runs with a version",
    description:
      "Begins so many in a hundred of an app's new runs with a version, the others with the newest other one. Without a\nversion all new runs begin with the newest again. Runs that have begun stay with theirs.",
    args: [
      { name: "<app>", doc: "the app's id" },
      { name: "[version]", doc: "the version" },
    ],
    rows: ROLLOUT_OPTIONS,
    examples: [
      { doc: "A tenth", line: "holdfast-gateway rollout shop 2.0 --percent 10" },
      { doc: "Back to the version before, whatever is deployed", line: "holdfast-gateway rollout shop 1.0" },
      { doc: "The newest version begins all new runs", line: "holdfast-gateway rollout shop" },
    ],
  },
  {
    name: "functions",
    group: WORK_WITH_IT,
    summary: "list the functions of all apps, and which are paused",
    description:
      "Lists the functions of all apps that have connected: their triggers, queues, versions and pauses, and how many workers\nare connected for each.",
    args: [],
    rows: CLIENT_OPTIONS,
    examples: [
      { doc: "All", line: "holdfast-gateway functions" },
      {
        doc: "Those that are paused",
        line: "holdfast-gateway functions --json | jq -r '.functions[] | select(.paused).id'",
      },
    ],
  },
  {
    name: "workers",
    group: WORK_WITH_IT,
    summary: "list the connected workers, drain them",
    description:
      "Lists the workers that are connected, at all gateways of the database. What a worker has is known to its own gateway.",
    args: [],
    rows: CLIENT_OPTIONS,
    examples: [{ doc: "Who is there", line: "holdfast-gateway workers" }],
  },
  {
    name: "workers drain",
    group: WORK_WITH_IT,
    summary: "give workers no new work; what they have goes on",
    description:
      "Drains workers: they finish what they have and are given nothing new, at whichever gateway they are, also after a\nreconnect. Then they can be stopped without a pause in their runs.",
    args: [{ name: "<worker...>", doc: "instance ids, or ids of connections" }],
    rows: CLIENT_OPTIONS,
    examples: [{ doc: "Before it is stopped", line: "holdfast-gateway workers drain web-1" }],
  },
  {
    name: "workers resume",
    group: WORK_WITH_IT,
    summary: "give drained workers work again",
    description: "Gives workers that were drained work again.",
    args: [{ name: "<worker...>", doc: "instance ids, or ids of connections" }],
    rows: CLIENT_OPTIONS,
    examples: [{ doc: "It stays after all", line: "holdfast-gateway workers resume web-1" }],
  },
];
