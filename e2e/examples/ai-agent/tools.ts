/** What the model may do. A tool gets the customer from the run, never from the model. */

interface ToolContext {
  readonly customer: string;
  /** The same in each attempt: what the tool calls can tell repeats by it. */
  readonly key: string;
}

const tools: Readonly<Record<string, (input: { order: number }, context: ToolContext) => Promise<unknown>>> = {
  "look-up-order": ({ order }, { customer }) => shop(`/customers/${customer}/orders/${order}`, "GET"),
  refund: ({ order }, { customer, key }) => shop(`/customers/${customer}/orders/${order}/refund`, "POST", key),
};

export const toolsThatNeedApproval: ReadonlySet<string> = new Set(["refund"]);

export const descriptions = Object.keys(tools).map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object", required: ["order"], properties: { order: { type: "integer" } } } },
}));

/** What the tool says, as text. What the model got wrong is an answer, too: it may try again. */
export async function runTool(name: string, input: string, context: ToolContext): Promise<string> {
  const tool = tools[name];
  if (tool === undefined) return `There is no tool ${name}.`;
  const { order } = JSON.parse(input) as { order: number };
  if (!Number.isSafeInteger(order)) return "order has to be a whole number.";
  return JSON.stringify(await tool({ order }, context));
}

async function shop(path: string, method: string, key?: string): Promise<unknown> {
  const headers = key === undefined ? {} : { "idempotency-key": key };
  const response = await fetch(`${process.env.SHOP_URL}${path}`, { method, headers });
  if (!response.ok) throw new Error(`The shop answered ${response.status}.`);
  return response.json();
}
