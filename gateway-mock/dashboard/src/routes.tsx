/** Which view an address names. A page is added here, and with a `label` it is in the navigation. */
import type { ComponentType } from "preact";
import { Compare } from "./pages/compare.tsx";
import { Connections } from "./pages/connections.tsx";
import { EventPage } from "./pages/event.tsx";
import { Events } from "./pages/events.tsx";
import { Faults } from "./pages/faults.tsx";
import { Frames } from "./pages/frames.tsx";
import { FunctionPage } from "./pages/function.tsx";
import { Functions } from "./pages/functions.tsx";
import { GraphPage } from "./pages/graph.tsx";
import { Graphs } from "./pages/graphs.tsx";
import { Limits } from "./pages/limits.tsx";
import { NotFound } from "./pages/not-found.tsx";
import { Overview } from "./pages/overview.tsx";
import { RunPage } from "./pages/run.tsx";
import { Runs } from "./pages/runs.tsx";
import { Schedules } from "./pages/schedules.tsx";
import type { ViewProps } from "./pages/view-props.ts";

export interface Page {
  /** `/ui/runs/:id`; of a page in the navigation the address itself. */
  readonly href: string;
  readonly title: string;
  /** Of a page that is not in the navigation: the address of the one that it belongs to. */
  readonly within?: string;
  /** In the navigation. */
  readonly label?: string;
  /** In the navigation only of gateways that may be asked for faults. */
  readonly needsFaults?: boolean;
  readonly View: ComponentType<ViewProps>;
}

export const PAGES: readonly Page[] = [
  { href: "/", title: "Overview", label: "Overview", View: Overview },
  { href: "/ui/runs", title: "Runs", label: "Runs", View: Runs },
  { href: "/ui/functions", title: "Functions", label: "Functions", View: Functions },
  { href: "/ui/functions/:id", title: "Function", within: "/ui/functions", View: FunctionPage },
  { href: "/ui/graphs", title: "Graphs", label: "Graphs", View: Graphs },
  { href: "/ui/graphs/:id", title: "Graph", within: "/ui/graphs", View: GraphPage },
  { href: "/ui/events", title: "Events", label: "Events", View: Events },
  { href: "/ui/events/:id", title: "Event", within: "/ui/events", View: EventPage },
  { href: "/ui/schedules", title: "Schedules", label: "Schedules", View: Schedules },
  { href: "/ui/limits", title: "Limits", label: "Limits", View: Limits },
  { href: "/ui/connections", title: "Connections", label: "Connections", View: Connections },
  { href: "/ui/connections/:id/frames", title: "Frames", within: "/ui/connections", View: Frames },
  { href: "/ui/faults", title: "Faults", label: "Faults", needsFaults: true, View: Faults },
  { href: "/ui/compare", title: "Compare", within: "/ui/runs", View: Compare },
  { href: "/ui/runs/:id", title: "Run", within: "/ui/runs", View: RunPage },
];

const NOWHERE: Page = { href: "", title: "Not found", View: NotFound };

export function pageOf(path: string): { readonly page: Page; readonly params: Record<string, string> } {
  const given = path.replace(/\/$/, "").split("/");
  for (const page of PAGES) {
    const params = paramsOf(page.href.replace(/\/$/, "").split("/"), given);
    if (params) return { page, params };
  }
  return { page: given.join("/") === "/ui" ? (PAGES[0] ?? NOWHERE) : NOWHERE, params: {} };
}

function paramsOf(wanted: readonly string[], given: readonly string[]): Record<string, string> | null {
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = decode(value);
    else if (part !== value) return null;
  }
  return params;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
