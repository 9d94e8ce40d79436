/** Something is done with all runs that the list shows: says how many, asks, and shows how far it is. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, post, type Trouble, troubleOf } from "../data/api.ts";
import { countOf, countText } from "../data/format.ts";
import { usePress } from "../data/press.ts";
import type { BulkJob, Status } from "../data/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";
import { STATUS_WORDS } from "../parts/status.tsx";
import { type BulkAction, bulkFilter, type Filter, takenStatuses, untakenStatuses } from "./runs-filter.ts";

interface Preview {
  readonly count: number;
  readonly isMore: boolean;
  readonly leftOut: number;
}

const TITLES: Readonly<Record<BulkAction, string>> = {
  cancel: "Cancel these runs",
  rerun: "Rerun these runs",
  resume: "Resume these runs",
};
const EFFECTS: Readonly<Record<BulkAction, string>> = {
  cancel: "They end as cancelled. Steps that have finished stay finished.",
  rerun: "Each is made once more, as a new run of the same events, with the newest version of its app.",
  resume: "Each goes on where it failed or was cancelled, with the same id; finished steps stay.",
};

const EVERY_MS = 300;

export interface BulkDialogProps {
  readonly action: BulkAction;
  readonly filter: Filter;
  readonly onClose: () => void;
}

export function BulkDialog({ action, filter, onClose }: BulkDialogProps): JSX.Element {
  // What "the last hour" is stays the same between the question and the answer.
  const wanted = useMemo(() => bulkFilter(action, filter, Date.now()), []);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [job, setJob] = useState<BulkJob | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const fail = (error: unknown): void => setProblem(troubleOf(error));
  useEffect(() => {
    post<Preview>("/v1/bulk", { action, filter: wanted, dryRun: true }).then(setPreview, fail);
  }, []);
  useEffect(() => {
    if (job?.status !== "RUNNING") return;
    const timer = setTimeout(() => void get<BulkJob>(`/v1/bulk/${job.id}`).then(setJob, fail), EVERY_MS);
    return () => clearTimeout(timer);
  }, [job]);
  const press = usePress();
  const begin = (): Promise<void> => post<BulkJob>("/v1/bulk", { action, filter: wanted }).then(setJob, fail);
  const stop = (): void => {
    if (job) void post<{ job: BulkJob }>(`/v1/bulk/${job.id}/stop`).then((answer) => setJob(answer.job), fail);
  };
  return (
    <Dialog title={TITLES[action]} onClose={onClose}>
      <Problem trouble={problem} />
      {job === null ? <Question {...{ action, filter, preview }} /> : <Progress job={job} />}
      <div class="buttons">
        {job === null && preview?.count !== 0 && (
          <button type="button" class="primary" disabled={preview === null} {...press(begin)}>
            {preview === null ? "Counting …" : `${TITLES[action].split(" ")[0]} ${shown(preview)}`}
          </button>
        )}
        {job?.status === "RUNNING" && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <button type="button" onClick={onClose}>
          {job === null && preview?.count !== 0 ? "Do nothing" : "Close"}
        </button>
      </div>
    </Dialog>
  );
}

const shown = ({ count, isMore }: Preview): string =>
  isMore ? `more than ${countText(count)} runs` : countOf(count, "run");

interface QuestionProps extends Omit<BulkDialogProps, "onClose"> {
  readonly preview: Preview | null;
}

function Question({ action, filter, preview }: QuestionProps): JSX.Element {
  const leftOut = preview === null || preview.leftOut === 0 ? "" : ` ${leftOutText(preview.leftOut)}`;
  return (
    <>
      {preview?.count === 0 ? (
        <p>None of the runs that fit can be taken: there is nothing to do.{leftOut}</p>
      ) : (
        <p>
          {preview === null ? "Counting the runs that fit …" : fitText(preview)} {EFFECTS[action]}
          {leftOut}
        </p>
      )}
      <p class="lead">{takenText(action, filter)}</p>
    </>
  );
}

const leftOutText = (count: number): string =>
  `${countOf(count, "run")} that ${count === 1 ? "has been rerun already is" : "have been rerun already are"} left out.`;

const fitText = (preview: Preview): string =>
  `${shown(preview)} ${preview.count === 1 && !preview.isMore ? "fits" : "fit"}.`;

/** Which of the runs that are shown it is done with. */
function takenText(action: BulkAction, filter: Filter): string {
  const taken = wordsFor(takenStatuses(action, filter));
  const others = untakenStatuses(action, filter);
  if (others.length === 0) return `It takes runs in status ${taken}.`;
  return `It takes runs in status ${taken} only, as the filter names no status: choose ${wordsFor(others)} there to take those.`;
}

/** `Failed`; `Failed or Cancelled`. */
function wordsFor(statuses: readonly Status[]): string {
  const words = statuses.map((one) => STATUS_WORDS[one]);
  const last = words.pop() ?? "";
  return words.length === 0 ? last : `${words.join(", ")} or ${last}`;
}

function Progress({ job }: { readonly job: BulkJob }): JSX.Element {
  const { total, done, skipped, failed, status, errors } = job;
  const over = done + skipped + failed;
  return (
    <div class="progress" role="status">
      <progress
        value={status === "DONE" ? 1 : total === null ? undefined : over / Math.max(1, total)}
        aria-label="Progress"
      />
      <p>
        {status === "STOPPED" ? "Stopped: " : ""}
        {countText(done)}
        {total === null ? "" : ` of ${countText(total)}`} done
        {skipped > 0 && `, ${countText(skipped)} left out`}
        {failed > 0 && `, ${countText(failed)} refused`}
      </p>
      {errors.length > 0 && (
        <ul class="reasons">
          {errors.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
