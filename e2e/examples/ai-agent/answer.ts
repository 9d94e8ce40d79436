/** An AI agent: a model says what to do, tools do it, until it answers. Each call of the model and of a tool is a step. */
import { eventType, Holdfast, NonRetriableError, staticSchema } from "holdfast";
import { askModel, type Message } from "./model.ts";
import { runTool, toolsThatNeedApproval } from "./tools.ts";

const app = new Holdfast({ id: "support" });
const asked = eventType("support/asked", { schema: staticSchema<{ question: string; customer: string }>() });

const MAX_TURNS = 20;

export const answer = app.createFunction(
  { id: "answer", triggers: asked, deadline: "2d", retries: 4, concurrency: { limit: 3, key: "event.data.customer" } },
  async ({ event, step, runId }) => {
    const { question, customer } = event.data;
    const messages: Message[] = [{ role: "user", content: question }];
    for (let turn = 1; turn <= MAX_TURNS; turn += 1) {
      const reply = await step.run({ id: "ask the model", timeout: "2m" }, askModel, messages);
      messages.push(reply);
      if (!reply.tool_calls?.length) return { answer: reply.content, turns: turn };
      const results = await Promise.all(
        reply.tool_calls.map(async ({ id, function: { name, arguments: input } }): Promise<Message> => {
          if (toolsThatNeedApproval.has(name)) {
            const decision = await step.waitForSignal(`approve ${name}`, { signal: `${runId} ${id}`, timeout: "1d" });
            if (decision?.data !== "yes") return { role: "tool", tool_call_id: id, content: "This was not allowed." };
          }
          const content = await step.run(`tool ${name}`, () =>
            runTool(name, input, { customer, key: `${runId} ${id}` }),
          );
          return { role: "tool", tool_call_id: id, content };
        }),
      );
      messages.push(...results);
    }
    throw new NonRetriableError(`There was no answer after ${MAX_TURNS} turns.`);
  },
);

await app.connect({ functions: [answer] });
