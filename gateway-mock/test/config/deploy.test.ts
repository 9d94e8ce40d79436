/** The files under `deploy/` say what the gateway understands, and are what those who read them take. */
import { readdirSync, readFileSync } from "node:fs";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { Service } from "kubernetes-models/v1/Service";
import { expect, test } from "vitest";
import { parseAllDocuments, parseDocument } from "yaml";
import { GATEWAY_OPTIONS } from "../../src/config/option-table.ts";

const folder = new URL("../../deploy/", import.meta.url);
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));
const known = new Set([
  ...Object.values(GATEWAY_OPTIONS).flatMap((option) => ("variables" in option ? option.variables : [])),
  // What apps read.
  "HOLDFAST_BASE_URL",
]);

test("every variable that the files for deployment name is an option's", () => {
  expect(files.map(({ name }) => name).sort()).toEqual([
    "Dockerfile",
    "compose.yaml",
    "holdfast-gateway.service",
    "kubernetes.yaml",
  ]);
  for (const { name, text } of files) {
    const named = [...new Set(text.match(/HOLDFAST_[A-Z_]+/g))];
    expect(named, name).not.toEqual([]);
    expect(
      named.filter((variable) => !known.has(variable)),
      name,
    ).toEqual([]);
  }
});

test("each gives the gateway longer to end than it takes to drain", () => {
  const drainSeconds = GATEWAY_OPTIONS.drainMs.default / 1000;
  const periods = {
    "compose.yaml": /gateway:[\s\S]*?stop_grace_period: (\d+)s/,
    "holdfast-gateway.service": /TimeoutStopSec=(\d+)/,
    "kubernetes.yaml": /terminationGracePeriodSeconds: (\d+)/,
  };
  for (const [file, pattern] of Object.entries(periods)) {
    const text = files.find(({ name }) => name === file)?.text ?? "";
    expect(Number(pattern.exec(text)?.[1]), file).toBeGreaterThan(drainSeconds);
  }
});

/** By the schemas of the API of Kubernetes. */
const KINDS = { Deployment, PodDisruptionBudget, Service };
const textOf = (name: string): string => files.find((file) => file.name === name)?.text ?? "";

function problemsOf(text: string): string[] {
  return parseAllDocuments(text).flatMap((document) => {
    const resource = document.toJS() as { kind: keyof typeof KINDS };
    try {
      new KINDS[resource.kind](resource as never).validate();
      return document.errors.map(({ message }) => message);
    } catch (error) {
      return [`${resource.kind}: ${String(error)}`];
    }
  });
}

test("Kubernetes takes each resource, and refuses one that is wrong", () => {
  const text = textOf("kubernetes.yaml");
  expect(parseAllDocuments(text).map((document) => document.get("kind"))).toEqual(
    expect.arrayContaining(["Deployment"]),
  );
  expect(problemsOf(text)).toEqual([]);
  expect(problemsOf(text.replace(/replicas: \d+/, "replicas: two"))).toEqual([expect.stringContaining("replicas")]);
  expect(problemsOf(text.replace("containerPort:", "containerPorts:"))).not.toEqual([]);
});

test("systemd starts a gateway again however often it has ended, and nothing is scraped without a key", () => {
  const [, unit = ""] = /\[Unit\]([\s\S]*?)\n\[/.exec(textOf("holdfast-gateway.service")) ?? [];
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(textOf("kubernetes.yaml")).not.toContain("prometheus.io/");
});

test("what compose starts is what the file says, once: no key stands there twice, and what is depended on is there", () => {
  const document = parseDocument(textOf("compose.yaml"));
  expect([...document.errors, ...document.warnings]).toEqual([]);
  const { services, volumes = {} } = document.toJS() as {
    services: Record<string, { depends_on?: Record<string, object>; volumes?: string[] }>;
    volumes?: Record<string, unknown>;
  };
  expect(Object.keys(services)).toContain("gateway");
  for (const [name, service] of Object.entries(services)) {
    for (const other of Object.keys(service.depends_on ?? {})) expect(Object.keys(services), name).toContain(other);
    const named = (service.volumes ?? []).map((volume) => volume.split(":")[0] ?? "").filter((one) => /^\w/.test(one));
    for (const volume of named) expect(Object.keys(volumes), name).toContain(volume);
  }
});
