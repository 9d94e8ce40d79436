/** The smallest graph whose output says what it was given. */
export const graphOf = (id: string, more: object = {}) => ({
  id,
  title: `Graph ${id}`,
  nodes: [
    { id: "start", type: "start" },
    { id: "end", type: "end", config: { outputParameters: { got: "{{ctx.input}}" } } },
  ],
  edges: [{ from: "start", to: "end" }],
  ...more,
});
