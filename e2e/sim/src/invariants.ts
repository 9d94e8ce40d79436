/** What must hold in every schedule, by number. The oracle names the number of what was broken. */
export const INVARIANTS = {
  S1: "A step whose result was acknowledged to its worker is never begun again by a dispatch that still counts.",
  S2: "A pass that was dispatched after a step's result was stored does not begin that step.",
  S3: "A dispatch (job and epoch) is executed at most once, by one process.",
  S4: "What a checkpoint's acknowledgement calls stored is in the store.",
  S5: "A reply that was acknowledged is in the store, or its work was another worker's.",
  S6: "fold(run_log) = head, at every commit.",
  S7: "A step has at most one result, a run at most one end.",
  S8: "A run that has not ended has a job; one that has ended has none.",
  S9: "Every accepted event has its runs, and each ends once the faults are over.",
  S10: "A run ends as its function says: the faults around it cost it no attempt and change no value.",
  S11: "After shutdown began no WORKER_READY is sent.",
  S12: "close() ends within its bound.",
  S13: "After close() nothing of the connection keeps its process alive.",
  S14: "Queues are bounded: running requests by the worker's capacity and its partitions, the outbox by its limit and what was running.",
  S15: "At rest nothing is left in memory: no request in a ledger, no dispatch and no run in a gateway.",
  S16: "At rest no side of the threads waits for an answer of the other.",
  S17: "Every error that is thrown is caught, in main and in gateways.",
  S18: "A connected thread that runs beats in time, whatever main does.",
  S19: "A request is acknowledged to the gateway only after it was posted to main.",
  S20: "Work that is not done at the end of a drain is handed back over the connection that is there.",
  S21: "Work stays with its worker while main is blocked, over cut connections and over deaths of the thread.",
  S22: "Work that someone holds is removed by nothing but its own report or the end of its run.",
  S23: "Of two dispatches of one job only the later one writes.",
  S24: "A step that invokes a function makes one run of it.",
  S25: "When a function has failed permanently, every finished step that can be undone has been.",
  S26: "Steps are undone in the reverse of the order in which they were finished, each once.",
  S27: "A run ends otherwise than its function says only for a reason that is there: a deadline, a timeout, an event that cancels, a singleton.",
  S28: "A run that a deadline, a timeout or an event has to end is ended by it.",
  S29: "At no time more of a function's jobs are leased than its concurrency allows.",
  S30: "A throttle lets no more runs start than its burst and its pace allow.",
  S31: "A rate limit makes a run of an event when the period has room, and of no other.",
  S32: "Debounce makes one run of the last event of those that came close together, and not too early.",
  S33: "Each event is in one batch, which is full or has waited for its time.",
  S34: "Of a singleton's runs one is live at a time.",
  S35: "A schedule makes one run of each tick that comes while a worker is connected.",
  S36: "No run starts before the time of its event.",
  S37: "With the strict policy a run is executed only by workers of the version that started it.",
  S38: "No body begins when its step's result is in the store, unless the network hid that its request was late, or hid from a plain gateway that it was acknowledged; or its run had just been cancelled, of which a worker of the base protocol is not told.",
  S39: "Without the extension `stall` WORKER_PAUSE is final: only a worker that shuts down sends it, and no WORKER_READY follows.",
  S40: "A gateway gives no request to a connection before its worker has announced itself, and no new work after WORKER_PAUSE.",
  S41: "What a worker says of requests that another app was given changes nothing, and gets it no lease.",
  S42: "A session token opens one session.",
  S43: "Nothing crosses from one environment to another, whatever has the same name there: no event, signal, key, run or request.",
  S44: "With the strict policy a run begins with the newest version, where that is there all the while.",
  S45: "A body begins only when every result is stored that its handler had been given when it asked for the step.",
  S46: "When the reply of a pass has completed a run, every result that its handler had been given is stored.",
  S47: "A worker is given only runs of functions whose queue, in its version, it serves.",
  S48: "A chain of runs is never lost and never split: each run that went on has one successor, each successor one run before it, and the chain goes on as often as its function says.",
  S49: "A run that has not ended has a reason to wait, which each gateway can say.",
  S50: "Once a function is paused nothing of it is handed out until it is resumed.",
  S51: "No run is removed that has not ended, that ended more recently than it is to be kept, or that a job or a waiting run needs.",
  S52: "A fork keeps the results of all steps that had ended before its step and that its code had been given by then, and no others.",
  S53: "Of a run that was removed nothing is left: no job, no wait, no origin, no event of its own.",
  S54: "A bulk job ends, and what it says it did is what it did.",
  S55: "Who watches is told of each fact of what it watches once, in the order of each run, at whatever gateway it goes on.",
  S56: "What is asked for from outside makes one run; who waits for it is told of its end, and not before.",
  S57: "What a resumed run does again had failed.",
  S58: "Once a body has begun after a race, the race has the same winner whenever the handler runs again.",
} as const;

export type InvariantId = keyof typeof INVARIANTS;

/** An invariant was broken: the schedule ends. */
export class Violation extends Error {
  readonly id: InvariantId;

  constructor(id: InvariantId, detail: string) {
    super(`${id}: ${INVARIANTS[id]} ${detail}`);
    this.name = "Violation";
    this.id = id;
  }
}
