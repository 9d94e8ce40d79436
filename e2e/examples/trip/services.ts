/** Services of other teams, over HTTP. SERVICES_URL says where. */
import { NonRetriableError, stepSignal } from "holdfast";

/**
 * @param key the same in each attempt, so that the service does once what is asked twice
 * @throws NonRetriableError when the service says that it will not do it
 */
export async function post(path: string, body: object, key?: string): Promise<{ id: string }> {
  const response = await fetch(`${process.env.SERVICES_URL}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) },
    body: JSON.stringify(body),
    signal: stepSignal(),
  });
  if (response.status === 409 || response.status === 422) throw new NonRetriableError(await response.text());
  if (!response.ok) throw new Error(`${path} answered ${response.status}.`);
  return (await response.json()) as { id: string };
}
